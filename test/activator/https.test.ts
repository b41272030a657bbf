import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, Server } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import WebSocket, { WebSocketServer } from "ws";
import type { RequestFront } from "../../activator/front.ts";
import type { Exchange } from "../../activator/http1/front/exchange.ts";
import { HeadBudget } from "../../activator/http1/front/head-budget.ts";
import { startHttp1Front } from "../../activator/http1/front/http1-front.ts";
import { BufferLoans } from "../../activator/socket/read-place.ts";
import { Sweep } from "../../activator/sweep.ts";
import { CurrentCertificate } from "../../lib/certificates/certificate-source.ts";
import {
  type CertificatePair,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../../lib/certificates/certificates.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("of the tests", validity);
const stranger = await makeAuthority("a stranger", validity);
const host = "nova.default.sandbox.localhost";
const makeServer = () =>
  makeServerCertificate(authority, { commonName: "here", dnsNames: [host], ipAddresses: ["127.0.0.1"], validity });
const client = await makeClientCertificate(authority, { commonName: "me", organizations: [], validity });
const other = await makeClientCertificate(stranger, { commonName: "me", organizations: [], validity });

const directory = await mkdtemp(join(tmpdir(), "activator-certs-"));
afterAll(() => rm(directory, { recursive: true }));
const path = (name: string) => join(directory, name);
async function put({ certificate, key }: CertificatePair): Promise<void> {
  await writeFile(path("tls.crt"), certificate);
  await writeFile(path("tls.key"), key);
}
await put(await makeServer());
await writeFile(path("ca.crt"), authority.certificate);

const flags = [
  "--https-bind-address=127.0.0.1:0",
  `--tls-cert-file=${path("tls.crt")}`,
  `--tls-key-file=${path("tls.key")}`,
];
const mutual = (mode: string) => [...flags, `--mtls-mode=${mode}`, `--tls-client-ca-file=${path("ca.crt")}`];

interface World {
  readonly activator: { readonly tlsPort: number | undefined };
}
const where = ({ activator }: World) => ({ host: "127.0.0.1", port: activator.tlsPort, servername: host });

/** Requests `/` of a sandbox over TLS; rejects if the connection fails. */
function ask(world: World, certificate?: CertificatePair): Promise<{ status: number | undefined; body: string }> {
  const shown = certificate && { cert: certificate.certificate, key: certificate.key };
  return new Promise((resolve, reject) => {
    const options = { ...where(world), ...shown, ca: authority.certificate, headers: { host }, agent: false };
    const asked = request(options, async (response: IncomingMessage) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve({ status: response.statusCode, body });
    });
    asked.on("error", reject).end();
  });
}

/** The serial number of the certificate that a port presents. */
const shownAt = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, servername: host, ca: authority.certificate }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    }).on("error", reject);
  });

/** Only a front, which answers as the test says, and by default never. */
async function openFront(
  certificates: CurrentCertificate,
  clients: "off" | "required" = "off",
  serve: (exchange: Exchange) => Promise<void> = async () => {},
): Promise<RequestFront> {
  const options = { host: "127.0.0.1", port: 0, headersTimeoutMs: 5_000, keepAliveTimeoutMs: 5_000, streamIdleMs: 0 };
  const tls = { certificates, clients } as const;
  return startHttp1Front(
    { ...options, maxHeaderBytes: 16_384, maxConnections: 10, tls },
    {
      ...{
        clock: systemClock,
        sweep: new Sweep(systemClock),
        loans: new BufferLoans(1),
        heads: new HeadBudget(),
        serve,
      },
      events: { connected() {}, disconnected() {}, dropped() {}, refused() {}, handshakeFailed() {}, overheadCut() {} },
    },
  );
}

describe("the activator over TLS", () => {
  it("holds, wakes and proxies as without TLS, and sends X-Forwarded-Proto: https", async () => {
    await using world = await openActivatorWorld(flags);
    await world.asleep(
      "nova",
      httpProgram(({ headers }, answer) => answer.end(`${headers["x-forwarded-proto"]}`)),
    );
    expect(await ask(world)).toEqual({ status: 200, body: "https" });
    const plain = await fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova" } });
    expect(await plain.text()).toBe("http");
  });

  it("proxies large bodies both ways, byte for byte", async () => {
    await using world = await openActivatorWorld(flags);
    await world.awake(
      "nova",
      httpProgram((incoming, answer) => void incoming.pipe(answer)),
    );
    const sent = Buffer.alloc(3_000_001, "abcdefg");
    const body = await new Promise<Buffer>((resolve, reject) => {
      const options = { ...where(world), ca: authority.certificate, headers: { host }, method: "POST" };
      request(options, async (response) => resolve(Buffer.concat(await Array.fromAsync(response))))
        .on("error", reject)
        .end(sent);
    });
    expect(body.equals(sent)).toBe(true);
  });

  it("proxies WebSockets", async () => {
    await using world = await openActivatorWorld(flags);
    const echo = (server: Server) =>
      new WebSocketServer({ server }).on("connection", (socket) =>
        socket.on("message", (text) => socket.send(`${text}!`)),
      );
    await world.awake(
      "nova",
      httpProgram((_, answer) => answer.end(), echo),
    );
    const socket = new WebSocket(`wss://127.0.0.1:${world.activator.tlsPort}/`, {
      ...{ ca: authority.certificate, servername: host },
      headers: { host },
    });
    const answered = new Promise((resolve, reject) => socket.once("message", resolve).once("error", reject));
    socket.once("open", () => socket.send("hello"));
    expect(String(await answered)).toBe("hello!");
    socket.terminate();
  });

  it("presents a new certificate to later connections", async () => {
    const certificates = new CurrentCertificate(await makeServer());
    await using front = await openFront(certificates);
    const before = await shownAt(front.address.port);
    certificates.set(await makeServer());
    expect(await shownAt(front.address.port)).not.toBe(before);
  });

  it("verifies clients with the CA at the time of their connection", async () => {
    const server = await makeServer();
    const certificates = new CurrentCertificate({ ...server, clientAuthority: authority.certificate });
    const fine = { status: 200, headers: [], body: "fine" };
    await using front = await openFront(certificates, "required", async (exchange) => exchange.answer(fine));
    const askFront = (shown: CertificatePair) => ask({ activator: { tlsPort: front.address.port } }, shown);
    expect(await askFront(client)).toEqual({ status: 200, body: "fine" });
    await expect(askFront(other)).rejects.toThrow();
    certificates.set({ ...server, clientAuthority: stranger.certificate });
    expect(await askFront(other)).toEqual({ status: 200, body: "fine" });
    await expect(askFront(client)).rejects.toThrow();
  });

  it("rejects clients without a valid certificate if one is required", async () => {
    await using world = await openActivatorWorld(mutual("required"));
    await world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("fine")),
    );
    await expect(ask(world)).rejects.toThrow();
    await expect(ask(world, other)).rejects.toThrow();
    expect(await ask(world, client)).toEqual({ status: 200, body: "fine" });
  });

  it("admits clients without a certificate if it is optional, and none with an invalid one", async () => {
    await using world = await openActivatorWorld(mutual("optional"));
    await world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("fine")),
    );
    expect((await ask(world)).status).toBe(200);
    expect((await ask(world, client)).status).toBe(200);
    await expect(ask(world, other)).rejects.toThrow();
  });

  it("may be the only listener", async () => {
    await using world = await openActivatorWorld([...flags, "--http-bind-address="]);
    expect(world.activator.proxyUrl).toMatch(/^https:/);
    await world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("fine")),
    );
    expect((await ask(world)).body).toBe("fine");
  });
});
