import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { Activity } from "../activator/activity/activity.ts";
import { PodFences } from "../activator/activity/pod-fences.ts";
import { DrainHandlers } from "../activator/drain/drain-handlers.ts";
import { startDrainServer } from "../activator/drain/drain-server.ts";
import { startConvertServer } from "../controller/webhook/convert-server.ts";
import { CurrentCertificate } from "../lib/certificates/certificate-source.ts";
import { makeAuthority, makeServerCertificate } from "../lib/certificates/certificates.ts";
import { silentLogger } from "../lib/log/log.ts";
import { startPageServer } from "../lib/net/page-server.ts";
import { systemClock } from "../lib/time/clock.ts";
import { openMemoryApi } from "./support/memory-api.ts";

const address = { host: "127.0.0.1", port: 0 };
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("an authority", validity);
const names = { commonName: "here", dnsNames: ["localhost"], ipAddresses: [] };
const certificates = new CurrentCertificate(await makeServerCertificate(authority, { ...names, validity }));

async function startPages(tls?: { readonly certificates: CurrentCertificate }) {
  const pages = { "/healthz": () => ({ contentType: "text/plain", body: "ok" }) };
  const server = await startPageServer({ name: "the test", address, pages, log: silentLogger, tls });
  return { port: Number(new URL(server.url).port), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function startDrain() {
  const fences = new PodFences({ onFenced: () => {}, hasPod: () => false });
  const replica = { activity: new Activity(systemClock), fences, closeOpen: () => {}, settle: () => {} };
  const busy = async () => ({ asked: true, status: 503 }) as const;
  const handlers = new DrainHandlers({
    ...replica,
    seenGeneration: () => 0,
    listening: async () => ({ ports: [] }),
    busy,
  });
  return startDrainServer({ address, certificates: undefined, onCall: () => {}, handlers });
}

async function startApi() {
  const api = await openMemoryApi();
  return { port: api.server.port, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

const startConversion = () => startConvertServer({ port: 0, certificates, clock: systemClock, log: silentLogger });

/** Counts the requests that Node passes to a server of this process, including those that Node answers itself. */
function countRequests(port: number) {
  let count = 0;
  const started = (message: unknown) => {
    const { request } = message as { readonly request: IncomingMessage };
    if (request.socket.localPort === port) count += 1;
  };
  subscribe("http.server.request.start", started);
  return {
    count: () => count,
    [Symbol.dispose]: () => void unsubscribe("http.server.request.start", started),
  };
}

/** Counts the pieces of bodies that Node keeps for a request, or passes on. */
function countPieces() {
  const { push } = Readable.prototype;
  let count = 0;
  Readable.prototype.push = function counted(...given) {
    if (this instanceof IncomingMessage) count += 1;
    return push.apply(this, given);
  };
  return {
    count: () => count,
    [Symbol.dispose]: () => {
      Readable.prototype.push = push;
    },
  };
}

async function reach(port: number, isSecure: boolean): Promise<Socket> {
  const where = { host: "127.0.0.1", port };
  const socket = isSecure ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
  socket.on("error", () => {});
  await once(socket, isSecure ? "secureConnect" : "connect");
  return socket;
}

/** A reset is an end too. */
const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()));

const servers = [
  { what: "pages", isSecure: false, start: () => startPages() },
  { what: "pages over TLS", isSecure: true, start: () => startPages({ certificates }) },
  { what: "the drain listener", isSecure: false, start: startDrain },
  { what: "the conversion webhook", isSecure: true, start: startConversion },
  { what: "the API of the local mode", isSecure: false, start: startApi },
];

describe.each(servers)("$what", ({ start, isSecure }) => {
  it.each([
    { how: "well-formed", head: "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" },
    { how: "without a Host", head: "GET /healthz HTTP/1.1\r\n\r\n" },
    { how: "with an unknown Expect", head: "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: b\r\n\r\n" },
  ])("handles one of many requests $how that come at once, and disconnects", async ({ head }) => {
    await using server = await start();
    using requests = countRequests(server.port);
    const client = await reach(server.port, isSecure);
    client.resume().write(head.repeat(1_000));
    await once(client, "close");
    expect(requests.count()).toBe(1);
  });

  it.each(["POST /drain/v1/observed", "POST /convert", "POST /api/v1/namespaces", "GET /healthz"])(
    "disconnects a client that sends the body of a %s in chunks of a byte",
    async (line) => {
      await using server = await start();
      using pieces = countPieces();
      const client = await reach(server.port, isSecure);
      const head = `${line} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
      client.resume().write(head + "1\r\nx\r\n".repeat(200_000));
      await closed(client);
      expect(pieces.count()).toBeLessThan(1_100);
    },
  );

  it("reads and drops a large body that nothing reads, to a limit", async () => {
    await using server = await start();
    using pieces = countPieces();
    const client = await reach(server.port, isSecure);
    client.resume().write("PUT /none HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000000\r\n\r\n");
    const piece = Buffer.alloc(1_000_000);
    const sendOn = () => void (client.writable && client.write(piece, sendOn));
    sendOn();
    await closed(client);
    expect(pieces.count()).toBeLessThan(2_000);
  });

  it("answers requests that come one after the other on one connection", async () => {
    await using server = await start();
    using requests = countRequests(server.port);
    const client = await reach(server.port, isSecure);
    for (let at = 1; at <= 10; at += 1) {
      client.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
      const [answer] = await once(client, "data");
      expect(String(answer)).toMatch(/^HTTP\/1\.1 \d+ /);
      expect(requests.count()).toBe(at);
    }
    client.destroy();
  });
});
