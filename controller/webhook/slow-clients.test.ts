import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { CurrentCertificate } from "../../lib/certificates/certificate-source.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aBetaSandbox, core } from "../../test/support/builders/versions.ts";
import { callWebhook, reviewOf } from "../../test/support/labs/webhook-world.ts";
import { startConvertServer } from "./convert-server.ts";

const megabyte = 1024 * 1024;
const host = "agent-sandbox-webhook-service.agent-sandbox-system.svc";
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("an authority", validity);
const names = { commonName: host, dnsNames: [host], ipAddresses: [] };
const certificates = new CurrentCertificate(await makeServerCertificate(authority, { ...names, validity }));

/** A review whose answer is as long as itself, and longer than what two kernels hold for a client that does not read. */
const review = (megabytes: number) => {
  const sandbox = aBetaSandbox();
  const annotations = { padding: "x".repeat(megabytes * megabyte) };
  return JSON.stringify(reviewOf([{ ...sandbox, metadata: { ...sandbox.metadata, annotations } }], core.beta));
};

/** Asks, and reads no more than the beginning of the answer. */
async function askAndWait(port: number, body: string): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port, ca: authority.certificate, servername: host });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  socket.write(`POST /convert HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  await once(socket, "data");
  return socket.pause();
}

/** What is left of an answer until its connection is closed. */
async function bytesLeft(socket: TLSSocket): Promise<number> {
  let bytes = 0;
  socket.on("data", (piece: Buffer) => {
    bytes += piece.length;
  });
  const closed = once(socket, "close");
  socket.resume();
  await closed;
  return bytes;
}

async function openServer() {
  const clock = new FakeClock();
  const bodies = { bytesMax: 20 * megabyte, bytesTotalMax: 13 * megabyte };
  const options = { port: 0, certificates, clock, log: silentLogger, bodies };
  const server = await startConvertServer(options);
  const { port } = server;
  return {
    clock,
    port,
    ask: async () => (await callWebhook({ port, ca: authority.certificate, body: review(2), host })).code,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

it("an answer that its client does not take is cut where another review needs the room", async () => {
  await using server = await openServer();
  const slow = await askAndWait(server.port, review(12));
  expect(await server.ask()).toBe(200);
  expect(await bytesLeft(slow)).toBeLessThan(12 * megabyte);
}, 60_000);

it("an answer that its client does not take is cut after 30 seconds", async () => {
  await using server = await openServer();
  const slow = await askAndWait(server.port, review(12));
  await server.clock.advance(30_000);
  expect(await bytesLeft(slow)).toBeLessThan(12 * megabyte);
}, 60_000);
