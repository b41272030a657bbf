import { once } from "node:events";
import { connect, createServer, Socket } from "node:net";
import { expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { listen } from "./listen.ts";
import { stopReading } from "./stop-reading.ts";

it("stops a socket within the turn that reads from it", async () => {
  await using server = createServer((accepted) => accepted.on("error", () => {}));
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  const accepted = once(server, "connection");
  const client = connect(port, "127.0.0.1").on("error", () => {});
  const [socket]: Socket[] = await accepted;
  if (!socket) throw new Error("no socket");
  let reads = 0;
  const stopped: boolean[] = [];
  socket.on("data", () => {
    reads += 1;
    stopped.push(stopReading(socket));
  });
  client.write(Buffer.alloc(1_000_000));
  await eventually(() => reads > 0);
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  expect([reads, stopped]).toEqual([1, [true]]);
  client.destroy();
  socket.destroy();
});

it("says that it cannot stop a socket whose internals are unknown", () => {
  expect(stopReading(new Socket())).toBe(false);
});
