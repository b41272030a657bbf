import { once } from "node:events";
import { performServerHandshake } from "node:http2";
import { connect, type Socket } from "node:net";
import { createServer, connect as dialTls, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import {
  endsStream,
  flag,
  frame,
  frameOf,
  getFields,
  headersOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../../test/support/http2-frames.ts";
import { tls } from "../../test/support/tls-path.ts";
import { secretsOf } from "../certificates/certificate-source.ts";
import { FakeClock } from "../time/clock.ts";
import { listen } from "./listen.ts";
import { stopReading } from "./stop-reading.ts";
import { tcpSocketOf } from "./tcp-socket.ts";
import { limitTlsOverhead } from "./tls-overhead.ts";

const wide = 2 ** 31 - 1;
const writeBytes = 65_536;

/** What waits in the TCP socket, and what it was given so far. */
function queueOf(socket: Socket): { readonly waiting: number; readonly given: number } {
  const handle: { writeQueueSize?: number; bytesWritten?: number } = ("_handle" in socket && socket._handle) || {};
  return { waiting: handle.writeQueueSize ?? 0, given: handle.bytesWritten ?? 0 };
}

/** A server of HTTP/2 over TLS that answers each request with so many bytes, and one client of it with the widest windows. */
async function openConnection(stack: AsyncDisposableStack, bytes: number) {
  const clock = new FakeClock();
  const server = createServer({ ...secretsOf(tls.certificates), ALPNProtocols: ["h2"] });
  stack.defer(() => void server.close());
  limitTlsOverhead(server, { clock });
  const accepted = once(server, "secureConnection");
  server.on("secureConnection", (secured: TLSSocket) => {
    const session = performServerHandshake(secured.on("error", () => {})).on("error", () => {});
    session.on("stream", (stream) => {
      stream.on("error", () => {}).respond({ ":status": 200 });
      let left = bytes;
      const writeOn = () => {
        left -= writeBytes;
        if (stream.destroyed) return;
        if (left > 0) stream.write(Buffer.alloc(writeBytes), writeOn);
        else stream.end();
      };
      writeOn();
    });
  });
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  const below = connect({ port, host: "127.0.0.1", noDelay: true }).on("error", () => {});
  const own = { socket: below, servername: "nova", rejectUnauthorized: false, ALPNProtocols: ["h2"] };
  const socket = dialTls(own).on("error", () => {});
  await once(socket, "secureConnect");
  const window = frameOf({ type: frame.windowUpdate }, uint32(wide - 65_535));
  const client = stack.use(await openFrameClient(port, [settingsOf([4, wide]), window], async () => socket));
  const [secured]: TLSSocket[] = await accepted;
  if (!secured) throw new Error("nothing was accepted");
  return { clock, client, below, secured, raw: tcpSocketOf(secured) };
}

describe("a connection over TLS whose client takes nothing", () => {
  it("stays open, and is closed once its client has reset it and nothing reads it", async () => {
    await using stack = new AsyncDisposableStack();
    const { clock, client, below, secured, raw } = await openConnection(stack, Number.POSITIVE_INFINITY);
    client.send(headersOf(1, getFields(), flag.endHeaders | flag.endStream));
    await client.until(({ type }) => type === frame.data);
    client.socket.pause();
    let before = -1;
    await eventually(() => {
      const { waiting, given } = queueOf(raw);
      const stands = waiting > 0 && given === before;
      before = given;
      return stands;
    });
    stopReading(raw); // as Node does once it has read anything while its write waits
    await clock.advance(1_000);
    expect(secured.destroyed).toBe(false);
    below.resetAndDestroy();
    await eventually(() => queueOf(raw).waiting === 0);
    expect(secured.destroyed).toBe(false); // Node itself does not notice
    await clock.advance(100);
    await eventually(() => secured.destroyed && raw.destroyed);
    expect(clock.pending).toBe(0);
  });
});

it("a connection over TLS whose client takes everything stays open while bytes are on their way", async () => {
  await using stack = new AsyncDisposableStack();
  const { clock, client, secured } = await openConnection(stack, 5_000_000);
  client.send(headersOf(1, getFields(), flag.endHeaders | flag.endStream));
  let isTaken = false;
  const taken = client.until(endsStream(1)).then(() => (isTaken = true));
  while (!isTaken && !secured.destroyed) {
    await clock.advance(100); // a check in each turn
    await new Promise(setImmediate);
  }
  await taken;
  expect(secured.destroyed).toBe(false);
});
