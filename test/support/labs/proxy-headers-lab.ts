import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, Writable } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { makeAuthority, makeServerCertificate } from "../../../lib/certificates/certificates.ts";
import { createLogger } from "../../../lib/log/log.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../eventually.ts";
import { type ActivatorWorld, httpProgram, openActivatorWorld, sandboxPort } from "./activator-world.ts";
import { openToAll, securedEcho, tlsProgram } from "./by-name-lab.ts";
import { allocate, freeFrontPort, tcpPort, tcpProgram } from "./tcp-front-lab.ts";

/** The address of the only peer whose connections begin with a header. */
export const proxyIp = "127.0.0.2";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("of the tests", validity);
const pair = await makeServerCertificate(authority, {
  ...{ commonName: "here", dnsNames: ["nova"], ipAddresses: ["127.0.0.1"], validity },
});

export interface ProxyHeadersWorld extends ActivatorWorld {
  readonly ports: { readonly http: number; readonly https: number; readonly tcp: number; readonly byName: number };
  /** The lines of the log. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** The value of a counter with that reason. */
  counted(name: string, reason: string): Promise<number>;
}

/**
 * An activator with all its listeners. Three sandboxes run: `nova` answers HTTP with its `X-Forwarded-For`, `vega` echoes behind an activator
 * port, and `lyra` echoes within TLS.
 */
export async function openProxyHeadersWorld(
  flags: readonly string[] = [],
  clock: Clock = systemClock,
): Promise<ProxyHeadersWorld> {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "rouse-proxy-headers-"));
  opened.defer(() => rmSync(folder, { recursive: true }));
  const files = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  writeFileSync(files.cert, pair.certificate);
  writeFileSync(files.key, pair.key);
  const lines: Readonly<Record<string, unknown>>[] = [];
  const sink = new Writable({
    write(chunk, _, done) {
      for (const line of String(chunk).trim().split("\n")) lines.push(JSON.parse(line));
      done();
    },
  });
  const args = [
    ...["--https-bind-address=127.0.0.1:0", `--tls-cert-file=${files.cert}`, `--tls-key-file=${files.key}`],
    ...["--by-name-bind-address=127.0.0.1:0", "--drain-bind-address=127.0.0.1:0", "--tcp-front-bind-address=127.0.0.1"],
    ...["--http2", "--access-log=true", `--proxy-protocol-networks=${proxyIp}`, ...flags],
  ];
  const world = opened.use(await openActivatorWorld(args, {}, { clock, log: createLogger("test", "info", sink) }));
  const { activator, registry } = world;
  await world.awake(
    "nova",
    httpProgram(({ headers }, answer) => answer.end(`${headers["x-forwarded-for"]}`)),
  );
  await world.awake(
    "vega",
    tcpProgram((socket) => socket.pipe(socket)),
  );
  await world.awake("lyra", tlsProgram(securedEcho("lyra")), openToAll);
  const ports = {
    ...{ http: activator.proxyPort, https: activator.tlsPort ?? 0, byName: activator.byNamePort ?? 0 },
    tcp: await openPort(world, "vega"),
  };
  const closing = opened.move();
  return {
    ...{ ...world, ports, lines },
    async counted(name, reason) {
      const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
      return values.find(({ labels }) => labels["reason"] === reason)?.value ?? 0;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

async function openPort({ api, registry }: ActivatorWorld, name: string): Promise<number> {
  const activatorPort = await freeFrontPort();
  const { uid } = (await api.client.get(sandboxType, { namespace: "default", name })).metadata;
  await allocate(api.client, { name, uid }, { activatorPort, containerPort: tcpPort });
  await eventually(async () => (await registry.metrics()).includes("rouse_activator_tcp_listeners 1"));
  return activatorPort;
}

export interface Dialled extends Disposable {
  readonly socket: Socket;
  readonly received: string;
  until(text: string): Promise<string>;
  /** Resolves once the other side has ended or reset it. */
  readonly over: Promise<void>;
}

/** Connects from that address, by default that of the proxy, and sends these bytes. */
export async function dial(port: number, first: string | Buffer, localAddress = proxyIp): Promise<Dialled> {
  const socket = connect({ port, host: "127.0.0.1", localAddress }).setNoDelay(true);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  const talk = following(socket);
  socket.write(first);
  return talk;
}

interface TlsOptions {
  readonly protocol?: string;
  readonly servername?: string;
}

/** Speaks TLS behind a header, which comes in one piece with the ClientHello. */
export async function dialTls(port: number, header: Buffer, options: TlsOptions = {}): Promise<Dialled> {
  return following(await secured(port, header, options));
}

/** As `dialTls`, but nothing is read yet. */
export async function secured(port: number, header: Buffer, options: TlsOptions): Promise<TLSSocket> {
  const { protocol = "http/1.1", servername = "nova" } = options;
  const raw = connect({ port, host: "127.0.0.1", localAddress: proxyIp }).setNoDelay(true);
  let before = header;
  const prefixing = new Duplex({
    read() {},
    write(bytes: Buffer, _, done) {
      raw.write(Buffer.concat([before, bytes]), done);
      before = Buffer.alloc(0);
    },
    final: (done) => void raw.end(done),
    destroy(error, done) {
      raw.destroy();
      done(error);
    },
  });
  raw.on("data", (bytes) => prefixing.push(bytes)).on("end", () => prefixing.push(null));
  raw.on("error", (error) => prefixing.destroy(error));
  const socket = connectTls({ socket: prefixing, servername, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  return socket;
}

function following(socket: Socket): Dialled {
  let received = "";
  const over = new Promise<void>((resolve) => socket.once("end", resolve).once("close", resolve));
  socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1"))).on("error", () => {});
  return {
    ...{ socket, over },
    get received() {
      return received;
    },
    async until(text) {
      await eventually(() => received.includes(text));
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** The host name of `nova`. */
export const novaHost = `${sandboxPort}--nova--default.sandbox.localhost`;
export const lyraHost = "lyra.default.sandbox.localhost";
export const aRequest = `GET / HTTP/1.1\r\nHost: ${novaHost}\r\nConnection: close\r\n\r\n`;
