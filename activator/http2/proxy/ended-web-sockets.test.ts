import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  endsStream,
  type FrameClient,
  fieldsOf,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { dialled, openBackend, openProxyPath, type ProxyPath } from "../../../test/support/proxy-path.ts";
import { type SeededRandom, seededRandom } from "../../../test/support/seeded-random.ts";
import { webSocketProofFor } from "../../../test/support/sockets/web-socket-proof.ts";
import type { OpenConnection } from "../../activity/open-connections.ts";
import { openSockets } from "../../socket/open-sockets.ts";

/** A whole frame, shorter than what the activator queues before it stops reading. Nine are more than the window of a stream. */
const piece = Buffer.concat([Buffer.from([0x82, 126, 0x1f, 0xfc]), Buffer.alloc(8_188)]);
const masked = Buffer.from("\x81\x82\0\0\0\0yo", "latin1");
const asks = [...fieldsOf("CONNECT"), [":protocol", "websocket"], ["sec-websocket-version", "13"]] as const;
const limits = { tunnelIdleMs: 2_000, tunnelLifetimeMs: 8_000, keepAliveTimeoutMs: 1_000, streamIdleMs: 2_000 };

interface Client {
  pause(): void;
  resume(): void;
  send(bytes: Buffer): void;
  end(): void;
  cut(): void;
}

interface Open extends AsyncDisposable {
  readonly path: ProxyPath;
  readonly clock: FakeClock;
  readonly client: Client;
  readonly sandbox: Socket;
  /** Its sandbox is suspended. */
  suspend(): void;
  /** The sandbox sends whole frames until a few bytes wait for a client that does not read. */
  fill(): Promise<void>;
  /** Nothing is left, once all limits are over. */
  over(): Promise<void>;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const protocols = ["HTTP/1.1", "HTTP/2"] as const;
type Protocol = (typeof protocols)[number];

async function clientOf(protocol: Protocol, port: number, using: AsyncDisposableStack): Promise<Client> {
  if (protocol === "HTTP/1.1") {
    const socket = await dialled(port);
    using.defer(() => void socket.destroy());
    socket.on("data", () => {}).once("end", () => socket.end());
    const fields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    socket.write(`GET / HTTP/1.1\r\nHost: nova\r\n${fields}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
    await once(socket, "data");
    const send = (bytes: Buffer) => void (socket.writable && socket.write(bytes));
    return {
      ...{ send, pause: () => void socket.pause(), resume: () => void socket.resume() },
      ...{ end: () => void socket.end(), cut: () => void socket.resetAndDestroy() },
    };
  }
  return streamClientOf(using.use(await openFrameClient(port)));
}

/** While it reads, it gives back the window that the sandbox's data takes. */
async function streamClientOf(client: FrameClient): Promise<Client> {
  let [reads, unread] = [true, 0];
  const readOn = () => {
    if (!reads || unread === 0 || !client.socket.writable) return;
    client.send(...[0, 1].map((stream) => frameOf({ type: frame.windowUpdate, stream }, uint32(unread))));
    unread = 0;
  };
  const send = (payload: Buffer, flags = 0) => {
    if (client.socket.writable) client.send(frameOf({ type: frame.data, stream: 1, flags }, payload));
  };
  const end = () => send(Buffer.alloc(0), flag.endStream);
  let [seen, isEnded] = [0, false];
  client.socket.on("data", () => {
    for (const { type, payload } of client.frames.slice(seen)) if (type === frame.data) unread += payload.length;
    seen = client.frames.length;
    readOn();
    if (isEnded || !client.frames.some(endsStream(1))) return;
    isEnded = true;
    end();
  });
  client.send(headersOf(1, asks, flag.endHeaders));
  await client.until(({ type }) => type === frame.headers);
  return {
    ...{ send, end, cut: () => client.send(frameOf({ type: frame.reset, stream: 1 }, uint32(8))) },
    pause() {
      reads = false;
    },
    resume() {
      reads = true;
      readOn();
    },
  };
}

/** A WebSocket through the activator. `answersEnd`: the sandbox ends its side once the activator has. */
async function openWebSocket(protocol: Protocol, answersEnd: boolean): Promise<Open> {
  const before = openSockets();
  await using stack = new AsyncDisposableStack();
  const accepted: Socket[] = [];
  const backend = stack.use(
    await openBackend((socket) => {
      accepted.push(socket);
      socket.once("data", (bytes: Buffer) => {
        const proof = webSocketProofFor(bytes.toString("latin1"));
        const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${proof}`;
        socket.write(`HTTP/1.1 101 Go\r\n${fields}\r\n\r\n`, "latin1");
        socket.resume();
      });
      if (answersEnd) socket.on("end", () => socket.end());
    }),
  );
  const clock = new FakeClock();
  const connections: OpenConnection[] = [];
  const onOpen = (connection: OpenConnection) => {
    connections.push(connection);
    const ignored = { moved() {}, clientSpoke() {}, sandboxSpoke() {}, clientSends() {}, requestEnded() {} };
    return { ...ignored, sandboxEnded() {} };
  };
  const path = stack.use(await openProxyPath(backend.port, { ...limits, clock, onOpen }));
  const client = await clientOf(protocol, path.port, stack);
  const [sandbox] = accepted;
  if (!sandbox) throw new Error("no connection to the sandbox");
  /** Sends it, and waits until the activator has read it. */
  const write = async (bytes: Buffer) => {
    const { upstream } = path;
    const until = (upstream?.bytesRead ?? 0) + bytes.length;
    sandbox.write(bytes);
    // It reads no more if it waits for the client.
    for (let idle = 0; idle < 200 && upstream?.readable && upstream.bytesRead < until; idle += 1) await turn();
  };
  const closing = stack.move();
  return {
    ...{ path, clock, client, sandbox },
    suspend() {
      for (const connection of connections) connection.close();
    },
    async fill() {
      client.pause();
      const front = path.sockets?.client;
      if (!front) for (let count = 0; count < 9 && sandbox.writable; count += 1) await write(piece);
      while (front?.writable && front.writableLength === 0 && sandbox.writable) await write(piece);
    },
    over: () =>
      eventually(
        async () => {
          await clock.advance(200); // less than the grace for a close: both sides may answer
          return path.front.active + path.http2.active + path.connections.open === 0 && openSockets() <= before;
        },
        8_000,
        5,
      ),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe.each(protocols)("a WebSocket over %s whose client does not read the last few bytes", (protocol) => {
  it("is cut a second after its close frame at the limit, also if its sandbox has ended its side", async () => {
    await using open = await openWebSocket(protocol, true);
    await open.fill();
    await open.clock.advance(limits.tunnelIdleMs + 200);
    await eventually(() => open.path.upstream?.readableEnded);
    expect(open.path.front.active + open.path.http2.active).toBe(1);
    await eventually(async () => {
      await open.clock.advance(100);
      return open.path.front.active + open.path.http2.active === 0;
    });
    expect(open.clock.ticksMs()).toBeLessThan(limits.tunnelIdleMs + 5_000);
    await open.over();
    await open.path.empty();
  });

  it("is left to the limits of the tunnel when its sandbox is suspended", async () => {
    await using open = await openWebSocket(protocol, true);
    await open.fill();
    open.suspend();
    await eventually(() => open.path.upstream?.readableEnded);
    await open.clock.advance(1_500);
    expect(open.path.front.active + open.path.http2.active).toBe(1);
    await open.over();
    await open.path.empty();
  });
});

const half = piece.length / 2;

/** What may happen to a WebSocket, in any order. */
const steps: Readonly<Record<string, (open: Open, random: SeededRandom) => void | Promise<void>>> = {
  fill: (open) => open.fill(),
  "the client stops reading": ({ client }) => client.pause(),
  "the client reads on": ({ client }) => client.resume(),
  "the client sends": ({ client }) => client.send(masked),
  "the client ends": ({ client }) => client.end(),
  "the client leaves": ({ client }) => client.cut(),
  "the sandbox sends a part of a frame": ({ sandbox }) =>
    void (sandbox.writable && sandbox.write(piece.subarray(0, half))),
  "the sandbox sends the rest": ({ sandbox }) => void (sandbox.writable && sandbox.write(piece.subarray(half))),
  "the sandbox ends": ({ sandbox }) => void sandbox.end(),
  "the sandbox stops reading": ({ sandbox }) => void sandbox.pause(),
  "the sandbox is suspended": (open) => open.suspend(),
  "the replica exits": ({ path }) => {
    path.front.endWebSockets();
    path.http2.endWebSockets();
  },
  "time passes": ({ clock }, random) => clock.advance(random.oneOf([100, 300, 1_100])),
};

const seeds = Array.from({ length: 40 }, (_, at) => at + 1);

describe.each(protocols)("after the limits nothing is left of a WebSocket over %s", (protocol) => {
  it.each(seeds)("whatever its sides did: %i", async (seed) => {
    const random = seededRandom(Math.imul(seed, 0x9e3779b1)); // neighbouring seeds begin alike
    await using open = await openWebSocket(protocol, random.below(4) > 0);
    const done: string[] = [];
    for (let count = 2 + random.below(6); count > 0; count -= 1) {
      const name = random.oneOf([...Object.keys(steps), "fill", "fill", "fill"]);
      done.push(name);
      await steps[name]?.(open, random);
      for (let turns = random.below(4); turns > 0; turns -= 1) await turn();
    }
    await expect(open.over(), done.join(", ")).resolves.toBeUndefined();
    await open.path.empty();
  });
});
