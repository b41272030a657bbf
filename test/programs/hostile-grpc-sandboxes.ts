import type { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Random } from "../http1/random.ts";
import { type Http2Client, openHttp2Client } from "../support/http2-client.ts";
import { blockOf, flag, frame, frameOf, settingsOf, uint32 } from "../support/http2-frames.ts";
import { openBackend, openProxyPath, say } from "../support/proxy-path.ts";

// Sends calls of gRPC and gRPC-Web to sandboxes that break HTTP/2 in every way, and collects all garbage meanwhile. Prints how many calls ended, and
// how many looked as if they had succeeded.

const rounds = Number(process.argv[2] ?? 20);
const random = new Random(20_261_123);
setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const head = blockOf([
  [":status", "200"],
  ["content-type", "application/grpc"],
]);
const trailers = blockOf([["grpc-message", "x".repeat(100)]]);
const headers = (stream: number, flags: number, block = head) => frameOf({ type: frame.headers, flags, stream }, block);
const data = (stream: number, bytes = 100, flags = 0) =>
  frameOf({ type: frame.data, flags, stream }, Buffer.alloc(bytes));

/** What a sandbox sends for a stream; then it ends in one of the ways below. */
const answers: readonly ((stream: number) => Buffer)[] = [
  () => Buffer.alloc(0),
  (stream) => headers(stream, 0), // never completed
  (stream) => headers(stream, flag.endHeaders),
  (stream) => Buffer.concat([headers(stream, flag.endHeaders), data(stream)]),
  (stream) => Buffer.concat([headers(stream, flag.endHeaders), data(stream), headers(stream, 0, trailers)]),
  (stream) => Buffer.concat([headers(stream, flag.endHeaders), headers(stream, flag.endStream, trailers)]),
  (stream) => Buffer.concat([headers(stream, flag.endHeaders), data(stream, 16_384 * 6)]), // beyond its window
  (stream) => Buffer.concat(Array.from({ length: 2_000 }, () => data(stream, 0))),
  (stream) =>
    Buffer.concat([headers(stream, flag.endHeaders), ...Array.from({ length: 3_000 }, () => data(stream, 1))]),
  (stream) => frameOf({ type: frame.reset, stream }, uint32(random.below(20))),
  () => frameOf({ type: frame.reset, stream: 9_999 }, uint32(1)),
  () => frameOf({ type: frame.goaway }, Buffer.concat([uint32(random.below(9)), uint32(random.below(14))])),
  (stream) => frameOf({ type: frame.windowUpdate, stream }, uint32(2 ** 31 - 1)),
  () => Buffer.concat(Array.from({ length: 2_000 }, () => frameOf({ type: frame.ping }, Buffer.alloc(8)))),
  () => Buffer.concat(Array.from({ length: 2_000 }, () => settingsOf([3, random.below(9)]))),
  () => settingsOf([4, 0], [3, 0]),
  (stream) => frameOf({ type: frame.pushPromise, flags: flag.endHeaders, stream }, Buffer.concat([uint32(2), head])),
  (stream) => headers(stream, flag.endHeaders, blockOf([[":status", "abc"]])),
  (stream) =>
    headers(
      stream,
      flag.endHeaders,
      blockOf([
        [":status", "200"],
        ["te", "x"],
        ["connection", "close"],
      ]),
    ),
  (stream) => headers(stream, flag.endHeaders, blockOf([[":status", "99999"]])),
  (stream) => headers(stream, flag.endHeaders, blockOf([["content-type", "application/grpc"]])),
  (stream) => headers(stream, flag.endHeaders | flag.endStream, blockOf([[":status", "103"]])),
  () => Buffer.from(Array.from({ length: 200 }, () => random.below(256))),
];

const ends: readonly ((socket: Socket) => void)[] = [
  () => {},
  (socket) => socket.end(),
  (socket) => socket.destroy(),
  (socket) => socket.resetAndDestroy(),
];

await using backend = await openBackend((socket) => {
  socket.write(settingsOf());
  let streams = 0;
  socket.on("data", (bytes: Buffer) => {
    for (let at = 0; at + 9 <= bytes.length; ) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes[at + 3] === frame.headers && length > 20 && bytes.readUInt32BE(at + 5) % 2 === 1) {
        streams = Math.max(streams, bytes.readUInt32BE(at + 5));
        socket.write(random.pick(answers)(streams), () => random.pick(ends)(socket));
      }
      at += bytes.subarray(at, at + 3).toString("latin1") === "PRI" ? 24 : 9 + length;
    }
  });
});
await using path = await openProxyPath(backend.port, { streamIdleMs: 300, holdMs: 300 });

/** The bytes of an answer that may say how a call ended. */
type Ask = (client: Http2Client) => Promise<string>;

const overHttp2 =
  (type: string): Ask =>
  async (client) => {
    const asked = { ":method": "POST", "content-type": type };
    const { trailers: last, fields, body } = await client.ask(asked, "\0\0\0\0\0");
    return `${[...last, ...fields].join()} ${body}`;
  };

const overHttp1: Ask = () => {
  const head = "POST / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\nContent-Type: application/grpc-web\r\n";
  return say(path.port, `${head}Content-Length: 5\r\n\r\n\0\0\0\0\0`);
};

let [ended, succeeded] = [0, 0];
for (let round = 0; round < rounds; round += 1) {
  using client = openHttp2Client(path.port);
  const calls = Array.from({ length: 30 }, async () => {
    const said = await random.pick([overHttp2("application/grpc"), overHttp2("application/grpc-web"), overHttp1])(
      client,
    );
    ended += 1;
    if (/grpc-status(,|: )0/.test(said)) succeeded += 1;
  });
  await Promise.all(calls);
  collect();
}
await path.empty();
process.stdout.write(`${ended} ended, ${succeeded} succeeded\n`);
