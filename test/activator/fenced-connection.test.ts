import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { openTcpRelay } from "../support/labs/tcp-relay.ts";
import { openBackend } from "../support/proxy-path.ts";

it("a raw connection forwards nothing of a client that sends before the turn in which it is closed", async () => {
  let got = "";
  await using backend = await openBackend((socket) => {
    socket.on("data", (bytes) => (got += bytes.toString("latin1")));
  });
  let isFenced = false;
  using relay = await openTcpRelay(backend.port, {
    clientSends: (connection) => isFenced && connection.close(),
  });
  relay.client.write("before");
  await eventually(() => got === "before");
  isFenced = true;
  relay.client.write("after");
  expect(await relay.ended).toBe("closedForSleep");
  expect(got).toBe("before");
});
