import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openTcpRelay } from "../../test/support/labs/tcp-relay.ts";
import { openBackend } from "../../test/support/proxy-path.ts";

it("a raw connection waits 5 s at most for the end of a gone Pod, and is reset", async () => {
  await using backend = await openBackend((socket) => {
    socket.once("data", () => socket.write("rows"));
  });
  const clock = new FakeClock();
  using relay = await openTcpRelay(backend.port, { clock, tunnelIdleMs: 3_600_000 });
  const seen = { text: "", failed: "" };
  relay.client.on("data", (bytes) => (seen.text += bytes.toString("latin1")));
  relay.client.on("error", (error: NodeJS.ErrnoException) => (seen.failed = error.code ?? ""));
  relay.client.write("ask");
  await eventually(() => seen.text === "rows");
  await clock.advance(200);
  relay.sweep.podGone({ podUid: "p1", ip: "127.0.0.1" });
  await clock.advance(4_900);
  expect([relay.sweep.size, seen.failed]).toEqual([1, ""]);
  await clock.advance(300);
  expect(await relay.ended).toBe("relayed");
  await eventually(() => seen.failed === "ECONNRESET");
});
