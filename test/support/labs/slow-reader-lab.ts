import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { BufferLoans } from "../../../activator/socket/read-place.ts";
import type { WireSocket } from "../../../activator/socket/wire-socket.ts";
import { adoptAccepted, newSocket, plainAcceptedSocket } from "../../../activator/socket/wire-socket.ts";
import { Sweep } from "../../../activator/sweep.ts";
import { earlyPlace, TcpClient } from "../../../activator/tcp-front/connection/tcp-client.ts";
import { relayTcp } from "../../../activator/tcp-front/connection/tcp-tunnel.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../eventually.ts";
import { dialled, openBackend, openProxyPath, type ProxyPath } from "../proxy-path.ts";
import { deafListener } from "../sockets/deaf-listener.ts";
import { dialledTls, tls } from "../tls-path.ts";

/** A body on its way through the activator. */
export interface BodyPath extends AsyncDisposable {
  readonly sender: Socket;
  /** Has read nothing of the body, and is paused. */
  readonly reader: Socket;
  /** The activator's socket to the sender. */
  readonly source: WireSocket;
  /** The activator's socket to the reader. */
  readonly target: WireSocket;
}

type Ends = { readonly client: Socket; readonly sandbox: Socket };
type Sockets = NonNullable<ProxyPath["sockets"]>;

const lengthMax = 999_999_999;
const upload = `POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${lengthMax}\r\n\r\n`;
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${lengthMax}\r\n\r\n`;
const ask = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";
const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";

export interface Way {
  readonly what: string;
  readonly open: () => Promise<BodyPath>;
}

/** The ways of a body: of requests, responses, tunnels and activator ports. */
export const ways: readonly Way[] = [
  { what: "the body of a request", open: () => http(upload, "", "sandbox") },
  { what: "the body of a response", open: () => http(get, answer, "client") },
  { what: "what a tunnel's client sends", open: () => http(ask, switched, "sandbox") },
  { what: "what a tunnel's sandbox sends", open: () => http(ask, switched, "client") },
  { what: "what a TCP client sends", open: () => tcp("sandbox") },
  { what: "what a sandbox sends to a TCP client", open: () => tcp("client") },
];

/** Reads until the end of the head, and then nothing. */
async function readHead(socket: Socket): Promise<void> {
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) if (String(bytes).endsWith("\r\n\r\n")) break;
  socket.pause();
}

/** The body of a request over TLS. */
export const openTlsUpload = (): Promise<BodyPath> => http(upload, "", "sandbox", true);

async function http(request: string, response: string, to: keyof Ends, isTls = false): Promise<BodyPath> {
  await using opened = new AsyncDisposableStack();
  const accepted = Promise.withResolvers<Socket>();
  const backend = opened.use(await openBackend(accepted.resolve));
  const path = opened.use(await openProxyPath(backend.port, isTls ? { tls } : {}));
  const client = await (isTls ? dialledTls : dialled)(path.port);
  opened.defer(() => void client.destroy());
  client.write(request);
  const sandbox = await accepted.promise;
  await readHead(sandbox);
  sandbox.write(response);
  if (response !== "") await readHead(client);
  await eventually(() => path.sockets !== undefined);
  return between({ client, sandbox }, path.sockets as Sockets, to, opened.move());
}

async function tcp(to: keyof Ends): Promise<BodyPath> {
  await using opened = new AsyncDisposableStack();
  const accepted = Promise.withResolvers<Socket>();
  const backend = opened.use(await openBackend(accepted.resolve));
  const sweep = opened.use(new Sweep(systemClock));
  const { client, waiting } = opened.use(await openWaitingClient());
  const outgoing = newSocket();
  await once(outgoing.connect(backend.port, "127.0.0.1"), "connect");
  const sandbox = await accepted.promise;
  const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port: 1, probes: [], young: false };
  const options = { loans: new BufferLoans(4), clock: systemClock, sweep, tunnelIdleMs: 0, tunnelLifetimeMs: 0 };
  void relayTcp(waiting, { socket: outgoing, target }, () => deafListener, options);
  return between({ client, sandbox }, { client: waiting.socket, sandbox: outgoing }, to, opened.move());
}

/** A TCP client that waits for its sandbox, and its own end of the connection. */
export interface WaitingClient extends AsyncDisposable {
  readonly client: Socket;
  readonly waiting: TcpClient;
}

export async function openWaitingClient(): Promise<WaitingClient> {
  const entered = Promise.withResolvers<TcpClient>();
  const front = createServer(plainAcceptedSocket, (socket) => {
    const clientOf = (wire: WireSocket) => {
      const waiting = new TcpClient(wire, systemClock);
      entered.resolve(waiting);
      return waiting;
    };
    adoptAccepted(socket, clientOf, undefined, earlyPlace);
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  const client = await dialled((front.address() as AddressInfo).port);
  return {
    ...{ client, waiting: await entered.promise },
    async [Symbol.asyncDispose]() {
      client.destroy();
      front.close();
    },
  };
}

function between(ends: Ends, sockets: Sockets, to: keyof Ends, opened: AsyncDisposableStack): BodyPath {
  const from = to === "client" ? "sandbox" : "client";
  return {
    ...{ sender: ends[from], reader: ends[to], source: sockets[from], target: sockets[to] },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
