import { once } from "node:events";
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
  expect(await relay.ended).toBe("cut");
  await eventually(() => seen.failed === "ECONNRESET");
});

it("a gone Pod that has ended its side, and still gets an upload, sees a reset and no end", async () => {
  const seen = { heard: "", ending: "" };
  await using backend = await openBackend((socket) => {
    socket.on("data", (bytes) => (seen.heard += bytes.toString("latin1"))).on("end", () => (seen.ending += "end"));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => (seen.ending += code));
    socket.end("go on");
  });
  using relay = await openTcpRelay(backend.port);
  relay.client.resume().write("a part");
  await once(relay.client, "end");
  await eventually(() => seen.heard === "a part");
  relay.sweep.podGone({ podUid: "p1", ip: "127.0.0.1" });
  await eventually(() => seen.ending !== "");
  expect(seen.ending).toBe("ECONNRESET");
});
