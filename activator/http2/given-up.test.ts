import { once } from "node:events";
import { performServerHandshake, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { secretsOf } from "../../lib/certificates/certificate-source.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { forbiddenFrames, goawayOf } from "../../test/malformed/forbidden-frames.ts";
import { eventually } from "../../test/support/eventually.ts";
import { beginCalls, callFields, openFrameSandbox, responseFields } from "../../test/support/grpc/frame-sandbox.ts";
import {
  codeOf,
  endsStream,
  type FrameClient,
  flag,
  frame,
  frameOf,
  getFields,
  headersOf,
  openFrameClient,
  type SeenFrame,
  settingsOf,
} from "../../test/support/http2-frames.ts";
import { dialled, openBackend, openProxyPath, type ProxyPath } from "../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../test/support/tls-path.ts";
import { hasGivenUp } from "./given-up.ts";
import { hasPendingFrames } from "./node-internals/native-handles.ts";
import { ReadShare } from "./read-share.ts";

const all = Object.entries(forbiddenFrames);
/** A sandbox that answers nothing. */
const silent = () => openBackend((socket) => void socket.resume().on("end", () => socket.end()));
const ways = [
  { way: "plain", dial: dialled, options: {} },
  { way: "over TLS", dial: (port: number) => dialledTls(port, "h2"), options: { tls } },
] as const;
const tellsError = (seen: SeenFrame) => seen.type === frame.goaway && codeOf(seen) > 0;

const dataOnNoStream = frameOf({ type: frame.data }, Buffer.from("x"));
const trailers = [["grpc-status", "0"]] as const;

/** A reset may take the place of the error. */
const hasEnded = ({ socket, frames }: FrameClient) => socket.destroyed || frames.some(tellsError);

/** Who has said GOAWAY before the frame comes. */
const announced: Readonly<Record<string, (path: ProxyPath) => readonly Buffer[]>> = {
  "no GOAWAY": () => [],
  "a GOAWAY of the client": () => [goawayOf(0)],
  "the first GOAWAY of the activator": (path) => {
    path.http2.beginDrain();
    return [];
  },
  "the last GOAWAY of the activator": (path) => {
    path.http2.beginDrain();
    path.http2.stopAccepting();
    return [];
  },
};
const cases = ways.flatMap((way) =>
  Object.entries(announced).map(([behind, announce]) => ({ ...way, behind, announce })),
);

describe("a connection of HTTP/2 with a stream, after a frame that the protocol forbids,", () => {
  it.each(cases)("ends behind $behind, $way, whatever the frame is", async ({ dial, options, announce }) => {
    await using backend = await silent();
    await using path = await openProxyPath(backend.port, options);
    const clients = await Promise.all(
      all.map(async ([name, bytes]) => ({ name, bytes, client: await openFrameClient(path.port, undefined, dial) })),
    );
    for (const { client } of clients) client.send(headersOf(1, getFields(), flag.endHeaders));
    await eventually(() => path.http2.active === all.length);
    const first = announce(path);
    for (const { client, bytes } of clients) client.send(...first, bytes);
    const open = () => clients.filter(({ client }) => !hasEnded(client)).map(({ name }) => name);
    await eventually(() => open().length + path.http2.active + backend.open === 0).catch(() => {});
    expect([open(), path.http2.active, backend.open]).toEqual([[], 0, 0]);
    for (const { client } of clients) client.socket.end();
    await path.empty();
    expect(path.offences).toEqual(all.map(() => "protocol"));
  });
});

describe("a client of HTTP/2 that keeps its side open", () => {
  it.each([
    { name: "after its GOAWAY", streams: 0, frames: [goawayOf(0)] },
    { name: "after its GOAWAY and a forbidden frame", streams: 1, frames: [goawayOf(0), dataOnNoStream] },
  ])("is disconnected soon $name", async ({ streams, frames }) => {
    const clock = new FakeClock();
    await using backend = await silent();
    await using path = await openProxyPath(backend.port, { clock });
    using client = await openFrameClient(path.port);
    client.socket.removeAllListeners("end");
    if (streams > 0) client.send(headersOf(1, getFields(), flag.endHeaders));
    client.send(...frames);
    await client.until(({ type }) => type === frame.goaway);
    const isClosed = once(client.socket, "end");
    await clock.advance(200);
    await isClosed;
    expect([path.http2.active, path.connections.open]).toEqual([0, 1]);
    await clock.advance(2_000);
    await path.empty();
  });
});

describe("a replica that exits", () => {
  it("waits for no stream whose client has broken the protocol since the GOAWAY, and has gone", async () => {
    await using backend = await silent();
    await using path = await openProxyPath(backend.port);
    using client = await openFrameClient(path.port);
    client.send(headersOf(1, getFields(), flag.endHeaders));
    await eventually(() => path.http2.active === 1);
    path.http2.beginDrain();
    path.http2.stopAccepting();
    await client.until(({ type }) => type === frame.goaway);
    client.send(dataOnNoStream);
    client.socket.destroy();
    await path.http2.idle();
    expect(path.http2.active).toBe(0);
  });
});

describe("a call of gRPC", () => {
  it.each(all)("ends when its sandbox sends %s behind a GOAWAY, and so does the connection", async (_, bytes) => {
    await using sandbox = await openFrameSandbox();
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1, 3], sandbox);
    sandbox.send(headersOf(1, responseFields, flag.endHeaders));
    await client.until(({ type, stream }) => type === frame.headers && stream === 1);
    sandbox.send(goawayOf(3), bytes);
    await eventually(() => path.http2.active + path.sessions === 0);
    const ends = [1, 3].map((stream) => client.frames.find(endsStream(stream))?.type);
    expect(ends).toEqual([frame.headers, frame.headers]);
  });

  it("is whole when its sandbox says GOAWAY behind a response that the client takes later", async () => {
    const clock = new FakeClock();
    await using sandbox = await openFrameSandbox();
    await using path = await openProxyPath(sandbox.port, { clock });
    using client = await openFrameClient(path.port, [settingsOf([4, 0])]);
    client.send(headersOf(1, callFields));
    await eventually(() => sandbox.calls === 1);
    const data = frameOf({ type: frame.data, stream: 1 }, Buffer.alloc(16_384));
    const end = headersOf(1, trailers, flag.endHeaders | flag.endStream);
    sandbox.send(headersOf(1, responseFields, flag.endHeaders), data, data, data, end, goawayOf(1));
    await client.until(({ type }) => type === frame.headers);
    await clock.advance(1_000);
    client.send(settingsOf([4, 65_535]));
    expect(await client.until(endsStream(1))).toMatchObject({ type: frame.headers });
    const dataOf = client.frames.filter(({ type }) => type === frame.data).map(({ payload }) => payload.length);
    expect(dataOf.reduce((sum, length) => sum + length, 0)).toBe(3 * data.length - 27);
  });
});

/** A session of Node alone, for the connection of that client. */
async function openSession({ dial, options }: Pick<(typeof ways)[number], "dial" | "options">) {
  const accepted = Promise.withResolvers<Socket>();
  const server =
    "tls" in options ? tlsServer(accepted.resolve) : createServer({ allowHalfOpen: true }, accepted.resolve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = await openFrameClient((server.address() as AddressInfo).port, undefined, dial);
  const socket = await accepted.promise;
  const session = performServerHandshake(socket).on("error", () => {});
  const streams = new Set<ServerHttp2Stream>();
  session.on("stream", (stream) => void streams.add(stream.on("error", () => {})));
  const share = new ReadShare(socket.resume());
  const dispose = () => {
    client.socket.destroy();
    socket.destroy();
    server.close();
  };
  return { client, socket, session, streams, share, [Symbol.dispose]: dispose };
}

const tlsServer = (accept: (socket: Socket) => void) =>
  createTlsServer({ ...secretsOf(tls.certificates), ALPNProtocols: ["h2"], allowHalfOpen: true }, accept);

describe("a session of Node behind a GOAWAY", () => {
  it.each(ways)("that another Node does not tell of is read on until its connection ends, $way", async (way) => {
    using scene = await openSession(way);
    const { client, socket, session, streams, share } = scene;
    client.send(headersOf(1, getFields(), flag.endHeaders), goawayOf(0), dataOnNoStream);
    await client.until(tellsError);
    let hasEnded = false;
    socket.once("end", () => {
      hasEnded = true;
    });
    client.socket.end();
    await eventually(() => !hasGivenUp(session, streams, share, () => undefined) && hasEnded);
    expect([session.destroyed, streams.size, hasGivenUp(session, streams, share)]).toEqual([false, 1, true]);
    session.destroy();
    expect([hasPendingFrames(session), hasGivenUp(session, streams, share)]).toEqual([undefined, false]);
  });

  it.each(ways)("has not given up while only Node's own streams wait to be read, $way", async (way) => {
    using scene = await openSession(way);
    const { client, session, streams, share } = scene;
    client.send(headersOf(1, getFields(), flag.endHeaders));
    await eventually(() => streams.size === 1);
    const [stream] = streams;
    stream?.pause();
    stream?.respond({ ":status": 200 }, { endStream: true });
    expect(hasPendingFrames(session)).toBe(true);
    client.send(frameOf({ type: frame.data, flags: flag.endStream, stream: 1 }, Buffer.from("x")), goawayOf(0));
    await eventually(() => hasPendingFrames(session) === false);
    expect([stream?.destroyed, hasGivenUp(session, streams, share)]).toEqual([false, false]);
  });
});
