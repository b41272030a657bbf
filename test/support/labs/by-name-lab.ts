import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect, TLSSocket } from "node:tls";
import { encryptRequest } from "../../../activator/by-name/postgres.ts";
import type { SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { makeAuthority, makeServerCertificate } from "../../../lib/certificates/certificates.ts";
import type { Program } from "../fakes/tiny-kubelet.ts";
import { type ActivatorWorld, openActivatorWorld } from "./activator-world.ts";
import { tcpPort, tcpProgram } from "./tcp-front-lab.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("of the tests", validity);
const { certificate: cert, key } = await makeServerCertificate(authority, {
  ...{ commonName: "here", ipAddresses: [], validity },
  dnsNames: ["*.default.sandbox.localhost", "*.sandbox.localhost"],
});

/** The host name of the sandbox `nova`. */
export const novaHost = "nova.default.sandbox.localhost";

/** A sandbox that is reached by name, on `tcpPort`. */
export const openToAll: Partial<SandboxSpec> = {
  autoResume: { allowFrom: "Any" },
  podTemplate: { spec: { containers: [{ name: "main", image: "program", ports: [{ containerPort: tcpPort }] }] } },
};

export interface ByNameWorld extends ActivatorWorld {
  readonly port: number;
  /** The value of a metric. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** How many connections were refused for this reason. */
  refused(reason: string): Promise<number>;
}

export async function openByNameWorld(flags: readonly string[] = []): Promise<ByNameWorld> {
  const world = await openActivatorWorld([
    ...["--by-name-bind-address=127.0.0.1:0", "--drain-bind-address=127.0.0.1:0"],
    ...["--tcp-front-bind-address=127.0.0.1", ...flags],
  ]);
  const metric = async (name: string, labels: Readonly<Record<string, string>> = {}) => {
    const { values = [] } = (await world.registry.getSingleMetric(name)?.get()) ?? {};
    const isAsked = (each: (typeof values)[number]) =>
      Object.entries(labels).every(([key, v]) => each.labels[key] === v);
    return values.filter(isAsked).reduce((sum, { value }) => sum + value, 0);
  };
  return {
    ...world,
    port: world.activator.byNamePort ?? 0,
    metric,
    refused: (reason) => metric("rouse_activator_tcp_refused_total", { reason }),
  };
}

const secure = (socket: Socket, serve: (socket: TLSSocket) => void) => {
  const secured = new TLSSocket(socket, { isServer: true, cert, key, ALPNProtocols: ["postgresql", "echo"] });
  secured.on("error", () => socket.destroy());
  serve(secured);
};

/** A TLS server with a certificate of its own. */
export const tlsProgram = (serve: (socket: TLSSocket) => void): Program =>
  tcpProgram((socket) => secure(socket, serve));

export interface PostgresLike {
  /** What it answers to the request for TLS; absent: S. */
  readonly answer?: string | undefined;
  /** Called with the first bytes that it got in clear text. */
  readonly onRequest?: (bytes: Buffer) => void;
}

/** A server that speaks TLS as PostgreSQL does: when it was asked for it in clear text, or at once. */
export const postgresProgram = (serve: (socket: TLSSocket) => void, { answer = "S", onRequest }: PostgresLike = {}) =>
  tcpProgram((socket) => {
    socket.once("data", (bytes: Buffer) => {
      onRequest?.(bytes);
      if (bytes.equals(encryptRequest)) {
        socket.write(answer);
        if (answer === "S") secure(socket, serve);
      } else if (bytes[0] === 22) {
        socket.pause().unshift(bytes);
        secure(socket, serve);
      } else socket.destroy();
    });
  });

/** Says who it is, and then echoes. */
export const securedEcho = (name: string) => (socket: TLSSocket) => {
  socket.write(`hello from ${name}\n`);
  socket.on("data", (bytes) => socket.write(bytes)).on("end", () => socket.end());
};

/** A client of TLS. */
export interface SecuredTalk extends Disposable {
  readonly socket: TLSSocket;
  readonly received: string;
  until(text: string): Promise<string>;
}

/** Connects with TLS; `over`: a connection that exists. Resolves once the sandbox's certificate was checked. */
export async function talkSecurely(port: number, options: ConnectionOptions = {}, over?: Socket): Promise<SecuredTalk> {
  const base = over ? { socket: over } : { port, host: "127.0.0.1" };
  const socket = connect({ ...base, ca: authority.certificate, servername: novaHost, ...options });
  let received = "";
  let failure: Error | undefined;
  let wake = () => {};
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString();
    wake();
  });
  socket.on("error", (error) => (failure = error));
  socket.on("close", () => wake());
  await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  return {
    socket,
    get received() {
      return received;
    },
    async until(text) {
      while (!received.includes(text)) {
        if (socket.destroyed) throw failure ?? new Error(`closed after ${JSON.stringify(received)}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** Asks for TLS as libpq does, and talks when the answer is S. */
export async function talkAsPostgres(port: number, options: ConnectionOptions = {}): Promise<SecuredTalk> {
  const socket = connectTcp({ port, host: "127.0.0.1" });
  socket.write(encryptRequest);
  const answer = await new Promise<Buffer>((resolve, reject) => socket.once("data", resolve).once("error", reject));
  if (answer.toString() !== "S") throw new Error(`answered ${answer}`);
  socket.removeAllListeners("error").pause();
  return await talkSecurely(port, options, socket);
}
