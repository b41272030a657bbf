import { once } from "node:events";
import { constants, performServerHandshake, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { createServer, connect as dialTls, type TLSSocket } from "node:tls";
import { cutStream } from "../../activator/http2/front/cut-stream.ts";
import { secretsOf } from "../../lib/certificates/certificate-source.ts";
import { blockOf, flag, frame, frameOf, preface, settingsOf, uint32 } from "../support/http2-frames.ts";
import { tls } from "../support/tls-path.ts";

// A server of HTTP/2 over TLS closes a connection while one response still has bytes to send, and another stream has sent its
// response and still takes its request. The first stream is cut as soon as Node tells of its end, as the activator does. Prints "alive"
// if the process goes on after that. Node may loop for ever, so this is a process of its own.

const widest = 2 ** 31 - 1;
const pieceBytes = 65_536;

const server = createServer({ ...secretsOf(tls.certificates), ALPNProtocols: ["h2"] });
const bothStreams = Promise.withResolvers<readonly [TLSSocket, ServerHttp2Stream]>();
server.on("secureConnection", (socket: TLSSocket) => {
  const streams: ServerHttp2Stream[] = [];
  const session = performServerHandshake(socket.on("error", () => {})).on("error", () => {});
  session.on("stream", (stream) => {
    streams.push(stream.on("error", () => {}).on("aborted", () => cutStream(stream)));
    stream.resume().respond({ ":status": 200 }, { endStream: streams.length === 2 });
    const [first] = streams;
    if (first && streams.length === 2) bothStreams.resolve([socket, first]);
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const client = dialTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] });
await once(
  client.on("error", () => {}),
  "secureConnect",
);
client.pause(); // takes nothing
const fields = blockOf([
  [":method", "POST"],
  [":scheme", "https"],
  [":path", "/"],
  [":authority", "a"],
]);
const openStream = (stream: number) => frameOf({ type: frame.headers, flags: flag.endHeaders, stream }, fields);
const window = frameOf({ type: frame.windowUpdate }, uint32(widest - constants.DEFAULT_SETTINGS_INITIAL_WINDOW_SIZE));
client.write(Buffer.concat([preface, settingsOf([4, widest]), window, openStream(1), openStream(3)]));

const [socket, stream] = await bothStreams.promise;
const closed = once(stream, "close");
const writeOn = () => void (stream.writable && stream.write(Buffer.alloc(pieceBytes), writeOn));
for (let pieces = 0; pieces < 40; pieces += 1) writeOn();
// Until the kernel takes no more: a write to the socket waits, and the stream has more.
for (let before = -1; socket.bytesWritten !== before; ) {
  before = socket.bytesWritten;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
socket.destroy();
await closed;
await new Promise(setImmediate);
process.stdout.write("alive\n", () => process.exit());
