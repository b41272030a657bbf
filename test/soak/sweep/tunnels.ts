import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import { namedMessage } from "../../sleep/ledger.ts";
import { rawPort, trailer } from "../../sleep/raw-workload.ts";
import { eventually } from "../../support/eventually.ts";
import { EchoClient } from "../../support/grpc/echo-service.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { grpcMetadata } from "./requests.ts";
import { activatorsOf, beforeOf, type SweepKind, type SweepWorld, timeoutMs, wayOf } from "./sweep-kind.ts";

/** A connection that stays open, and echoes messages. */
interface Tunnel extends Disposable {
  /** Whether it has ended. */
  readonly isOver: boolean;
  send(message: string): void;
  /** Resolves once that message came back, with whether it did before the end. */
  echoed(message: string): Promise<boolean>;
}

/** Collects what a tunnel brings. */
class Echoes {
  isOver = false;
  readonly #heard = new Set<string>();
  #changed = Promise.withResolvers<void>();

  hear(message: string): void {
    this.#heard.add(message);
    this.#wake();
  }

  end(): void {
    this.isOver = true;
    this.#wake();
  }

  async echoed(message: string): Promise<boolean> {
    while (!this.#heard.has(message) && !this.isOver) await this.#changed.promise;
    return this.#heard.has(message);
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** A message without an echo and without an end for so long is lost silently. */
const lostMs = 10_000;

/** A message on an open tunnel: it is echoed, or the end of the tunnel tells that it may be lost. */
function tunnel(name: string, open: (sandbox: string, world: SweepWorld) => Promise<Tunnel>): SweepKind {
  return {
    ...{ name, isTunnel: true },
    async prepare(sandbox, world) {
      const opened = await open(sandbox, world);
      const before = namedMessage(beforeOf(sandbox));
      opened.send(before);
      const isUsed = await opened.echoed(before);
      const usedMs = performance.now();
      return {
        usedMs,
        async ask() {
          using used = opened;
          if (!isUsed) return { wrong: "the message before was not echoed" };
          if (used.isOver) return { way: "messages that found the tunnel ended" };
          const message = namedMessage(sandbox);
          used.send(message);
          const over = new AbortController();
          const lost = delay(lostMs, "lost", { signal: over.signal }).catch(() => "lost");
          const how = await Promise.race([used.echoed(message), lost]);
          over.abort();
          if (how === "lost") return { wrong: "a message was lost silently: no echo, and the tunnel is open" };
          return { way: how === true ? `messages ${wayOf(sandbox, world)}` : "messages that ended with the tunnel" };
        },
      };
    },
  };
}

/** `ws` takes over a connection that exists by a method that its types do not have. */
interface Adopting {
  setSocket(
    socket: Duplex,
    head: Buffer,
    options: {
      readonly allowSynchronousEvents: boolean;
      readonly maxPayload: number;
      readonly skipUTF8Validation: boolean;
    },
  ): void;
}

/** The client of `ws` on a stream of HTTP/2 (RFC 8441). */
async function openWebSocket(sandbox: string, world: SweepWorld): Promise<Tunnel> {
  const { host, port } = activatorsOf(world).second;
  const session: ClientHttp2Session = connectHttp2(`http://${host}:${port}`).on("error", () => {});
  const echoes = new Echoes();
  session.once("close", () => echoes.end());
  await once(session, "remoteSettings");
  const asked = { ":method": "CONNECT", ":protocol": "websocket", ":path": "/", "sec-websocket-version": "13" };
  const stream = session.request({ ...asked, "x-sandbox-id": sandbox }, { endStream: false });
  stream.on("error", () => {});
  const [{ ":status": status }] = await once(stream, "response");
  if (status !== 200) echoes.end();
  const socket: WebSocket & Adopting = Object.assign(
    Reflect.construct(WebSocket, [null, undefined, {}]),
    // Otherwise it takes itself for a server, because it has no address.
    { _isServer: false },
  );
  const options = { allowSynchronousEvents: true, maxPayload: 2 ** 20, skipUTF8Validation: false };
  socket.setSocket(stream, Buffer.alloc(0), options);
  socket.on("error", () => {}).once("close", () => echoes.end());
  socket.on("message", (data) => echoes.hear(String(data)));
  return {
    get isOver() {
      return echoes.isOver || socket.readyState !== WebSocket.OPEN;
    },
    send: (message) => socket.send(message),
    echoed: (message) => echoes.echoed(message),
    [Symbol.dispose]() {
      socket.terminate();
      session.destroy();
    },
  };
}

/** A call of gRPC whose client has not ended its side. */
async function openCall(sandbox: string, world: SweepWorld): Promise<Tunnel> {
  const { host, port } = activatorsOf(world).second;
  const client = new EchoClient(`${host}:${port}`);
  const call = client.open("Both", { metadata: grpcMetadata(sandbox) });
  const echoes = new Echoes();
  call.on("error", () => {}).on("status", () => echoes.end());
  call.on("data", (message: Buffer) => echoes.hear(message.toString()));
  return {
    get isOver() {
      return echoes.isOver;
    },
    send: (message) => call.write(Buffer.from(message)),
    echoed: (message) => echoes.echoed(message),
    [Symbol.dispose]() {
      call.cancel();
      client[Symbol.dispose]();
    },
  };
}

const workMs = 3 * timeoutMs;
/** The connection of a question that comes too late ends within this time, before the idle time. */
const endedWithinMs = timeoutMs;
const random = seededRandom(1);

/** On an open raw connection: a question that is answered completely, or its connection ends before the sandbox could have answered. */
const question: SweepKind = {
  ...{ name: "ask", isTunnel: true, spec: { service: true }, spread: 4 },
  async prepare(name, { bed, names }) {
    await eventually(() => names.route(name, rawPort, random) !== undefined, 60_000);
    const route = names.route(name, rawPort, random);
    if (!route) throw new Error(`the Service of ${name} leads nowhere`);
    const socket = connect({ ...route, allowHalfOpen: true }).setEncoding("latin1");
    let heard = "";
    socket
      .on("error", () => {})
      .on("data", (text: string) => {
        heard += text;
      });
    const over = new Promise<void>((resolve) => socket.once("end", resolve).once("close", () => resolve()));
    // The connection is proxied once its Pod accepts, and that is the last activity. On a busy machine the sandbox may sleep again
    // before that is seen here; then the connection has ended.
    await Promise.race([bed.untilReady(name, 60_000), over]);
    return {
      usedMs: performance.now(),
      async ask() {
        const wasOver = socket.readableEnded || socket.destroyed;
        const askedMs = performance.now();
        if (!wasOver) socket.write(`${name} ${workMs}\n`);
        await over;
        const tookMs = performance.now() - askedMs;
        socket.destroy();
        if (wasOver) return { way: "questions that found the connection ended" };
        const [execution] = bed.node.ledger.of(name);
        if (execution && heard === trailer(execution.podUid, 0)) return { way: "questions answered" };
        if (heard === "" && tookMs < endedWithinMs)
          return { way: "questions that came too late, with the end of the connection" };
        return { wrong: `cut after ${tookMs.toFixed(0)} ms, having received ${JSON.stringify(heard)}` };
      },
    };
  },
};

/** Every kind of use of a connection that is open. */
export const tunnels: readonly SweepKind[] = [question, tunnel("ws2", openWebSocket), tunnel("grpc-both", openCall)];
