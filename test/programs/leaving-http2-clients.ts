// A front for HTTP/2 whose clients read nothing and break off their trailers. Prints the number of sessions that are left. Node
// aborts this process if their native parts are freed in the wrong order.
import { performServerHandshake } from "node:http2";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { queryObjects, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { nativeHandle } from "../../activator/http2/node-internals/native-handles.ts";
import { eventually } from "../support/eventually.ts";
import {
  blockOf,
  fieldsOf,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../support/http2-frames.ts";
import { openBackend, openProxyPath } from "../support/proxy-path.ts";

const [end = ""] = process.argv.slice(2);
const clientCount = 5;
/** More than the kernel keeps on the way to a client that reads nothing. */
const body = Buffer.alloc(50_000_000);

const session = performServerHandshake(new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() }));
const nativeSession = nativeHandle(session)?.constructor;
session.destroy();

const sandboxes: Socket[] = [];
const backend = await openBackend((socket) => {
  socket.once("data", () => sandboxes.push(socket));
});
const proxyPath = await openProxyPath(backend.port);
const post = fieldsOf("POST");
const clients = await Promise.all(
  Array.from({ length: clientCount }, async () => {
    const client = await openFrameClient(proxyPath.port, [settingsOf([4, 2 ** 31 - 1])]);
    client.send(frameOf({ type: frame.windowUpdate }, uint32(2 ** 30)), headersOf(1, post, flag.endHeaders));
    client.socket.pause();
    return client;
  }),
);
await eventually(() => sandboxes.length === clientCount);
for (const { socket } of clients) {
  socket.write(
    frameOf({ type: frame.headers, flags: flag.endStream, stream: 1 }, blockOf([["x-a", "1".repeat(3_000)]])),
  );
}
for (let turns = 0; turns < 10; turns += 1) await turn(); // the activator reads it
for (const socket of sandboxes) {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
  socket.write(body);
}
await untilStuck();
if (end === "reset") for (const { socket } of clients) socket.resetAndDestroy();
else await proxyPath.http2[Symbol.asyncDispose]();
await eventually(() => proxyPath.connections.open === 0);
for (const { socket } of clients) socket.destroy();
setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");
for (let rounds = 0; rounds < 10; rounds += 1) {
  collect();
  await wait(20); // what waits for freed objects runs between
}
const left = typeof nativeSession === "function" ? queryObjects(nativeSession, { format: "count" }) : "unknown";
process.stdout.write(`${left}\n`);
await proxyPath[Symbol.asyncDispose]();
await backend[Symbol.asyncDispose]();

/** Nothing more is taken from the sandboxes, so writes to the clients wait. */
async function untilStuck(): Promise<void> {
  const taken = () =>
    sandboxes.reduce((sum, { bytesWritten, writableLength }) => sum + bytesWritten - writableLength, 0);
  let [before, still] = [-1, 0];
  await eventually(() => {
    const now = taken();
    still = now === before ? still + 1 : 0;
    before = now;
    return still > 10;
  });
}
