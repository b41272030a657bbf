import { once } from "node:events";
import { request as plainRequest } from "node:http";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { CurrentCertificate } from "../certificates/certificate-source.ts";
import { makeAuthority, makeServerCertificate } from "../certificates/certificates.ts";
import { createLogger, silentLogger } from "../log/log.ts";
import { FakeClock } from "../time/clock.ts";
import { startPageServer } from "./page-server.ts";

const address = { host: "127.0.0.1", port: 0 };
const here = { name: "the test", address, log: silentLogger };
const text = (body: string, status?: number) => ({ contentType: "text/plain", body, ...(status && { status }) });
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("an authority", validity);
const makePair = () =>
  makeServerCertificate(authority, { commonName: "here", dnsNames: ["localhost"], ipAddresses: [], validity });

/** The body of a page, for a client that trusts the tests' CA. */
function getOver(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { ca: authority.certificate, servername: "localhost" }, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve(body);
    })
      .on("error", reject)
      .end();
  });
}

const serialOf = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url);
    const socket = connect({ host, port: Number(port), ca: authority.certificate, servername: "localhost" }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    }).on("error", reject);
  });

/** The status for a request target, sent unchanged. */
function statusOf(url: string, target: string, asHost?: string): Promise<number> {
  const { hostname: host, port } = new URL(url);
  const headers = asHost === undefined ? {} : { host: asHost };
  return new Promise((resolve, reject) => {
    plainRequest({ host, port, path: target, headers }, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", reject)
      .end();
  });
}

describe("a page server", () => {
  it.each([
    ["127.0.0.1:9", 200],
    ["[::1]:9", 200],
    ["localhost:9", 200],
    ["LocalHost.", 200],
    ["evil.example:9", 403],
    ["127.0.0.1.evil.example", 403],
    ["localhost.evil.example", 403],
  ])("with host names of its own answers a request for the host %s with %i", async (host, expected) => {
    await using server = await startPageServer({ ...here, hosts: ["localhost"], pages: { "/ok": () => text("fine") } });
    expect(await statusOf(server.url, "/ok", host)).toBe(expected);
    await using open = await startPageServer({ ...here, pages: { "/ok": () => text("fine") } });
    expect(await statusOf(open.url, "/ok", host)).toBe(200);
  });

  it.each(["//", "//ok", "///", "/\\", "http://[", "*", "/%", "/%ff", "/ok/.."])(
    "answers 404 for the request target %s, and serves on",
    async (target) => {
      await using server = await startPageServer({ ...here, pages: { "/ok": () => text("fine") } });
      expect(await statusOf(server.url, target)).toBe(404);
      expect(await statusOf(server.url, "/ok?%")).toBe(200);
    },
  );

  it("takes a request target with a scheme and a host", async () => {
    await using server = await startPageServer({ ...here, pages: { "/query": (query) => text(`${query.get("a")}`) } });
    expect(await statusOf(server.url, "http://elsewhere/query?a=b")).toBe(200);
  });

  it("serves its pages, and rejects other requests", async () => {
    const pages = {
      "/ok": () => text("fine"),
      "/query": (query: URLSearchParams) => text(`${query.get("a")}`),
      "/away": async () => text("not now", 503),
      "/broken": () => Promise.reject(new Error("broken")),
    };
    await using server = await startPageServer({ ...here, pages });
    const get = async (path: string, init?: RequestInit) => {
      const response = await fetch(server.url + path, init);
      return [response.status, await response.text()];
    };
    expect(await get("/ok?x=1")).toEqual([200, "fine"]);
    expect(await get("/ok", { method: "HEAD" })).toEqual([200, ""]);
    expect(await get("/query?a=b")).toEqual([200, "b"]);
    expect(await get("/away")).toEqual([503, "not now"]);
    expect(await get("/broken")).toEqual([500, "internal error\n"]);
    expect(await get("/toString")).toEqual([404, "not found\n"]);
    expect(await get("/ok", { method: "POST" })).toEqual([405, "GET only\n"]);
  });

  it("shows the certificate of the moment, as new as it may be", async () => {
    const [first, second] = [await makePair(), await makePair()];
    const certificates = new CurrentCertificate(first);
    const pages = { "/ok": () => text("secret") };
    await using server = await startPageServer({ ...here, pages, tls: { certificates, minVersion: "TLSv1.3" } });
    expect(server.url).toMatch(/^https:/);
    expect(await getOver(`${server.url}/ok`)).toBe("secret");
    const before = await serialOf(server.url);
    certificates.set(second);
    expect(await serialOf(server.url)).not.toBe(before);
    const { hostname: host, port } = new URL(server.url);
    const old = connect({ host, port: Number(port), maxVersion: "TLSv1.2", rejectUnauthorized: false });
    const refused = await new Promise<Error>((resolve) => old.once("error", resolve));
    expect(refused.message).toMatch(/protocol version/);
  });

  it.each([
    { waitedMs: 9_999, whole: true },
    { waitedMs: 10_000, whole: false },
  ])("gives a client ten seconds to take its answer: after $waitedMs ms it has it all: $whole", async (given) => {
    const clock = new FakeClock();
    const bytes = 16 * 1024 * 1024; // more than two kernels buffer for a client that does not read
    const long = { contentType: "text/plain", body: Buffer.alloc(bytes, "x") };
    await using server = await startPageServer({ ...here, pages: { "/long": () => long }, clock });
    const { hostname: host, port } = new URL(server.url);
    const slow = connectPlain({ host, port: Number(port) }).on("error", () => {});
    slow.pause().write("GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    await eventually(() => clock.pending === 1);
    await clock.advance(given.waitedMs);
    slow.resume();
    await once(slow, "close");
    expect(slow.bytesRead > bytes).toBe(given.whole);
  });

  it.each([
    { target: "POST /ok", status: 405 },
    { target: "GET /ok", status: 200 },
    { target: "HEAD /ok", status: 200 },
  ])("lets a client that closes send its body after the answer: $target gets $status", async ({ target, status }) => {
    await using server = await startPageServer({ ...here, pages: { "/ok": () => text("fine") } });
    const { hostname: host, port } = new URL(server.url);
    const client = connectPlain({ host, port: Number(port) });
    const bytes = 1_000_000;
    client.write(`${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`);
    const [answer] = await once(client, "data");
    expect(String(answer)).toContain(`HTTP/1.1 ${status} `);
    client.write(Buffer.alloc(bytes, "x"));
    // Rejects if the connection is reset.
    await once(client.resume(), "end");
    expect(client.bytesWritten).toBeGreaterThan(bytes);
  });

  it("logs one line a minute about a failing page, for any number of requests", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLogger("test", "info", { write: (line) => void lines.push(JSON.parse(line)) });
    const clock = new FakeClock();
    const fails = () => Promise.reject(new Error("no page"));
    await using server = await startPageServer({ ...here, pages: { "/fails": fails, "/too": fails }, log, clock });
    const paths = ["/fails", "/fails", "/too", "/fails"];
    for (const path of paths) expect(await statusOf(server.url, path)).toBe(500);
    expect(lines.map(({ path }) => path)).toEqual(["/fails", "/too"]);
    await clock.advance(60_000);
    for (const path of paths) expect(await statusOf(server.url, path)).toBe(500);
    expect(lines.map(({ path }) => path)).toEqual(["/fails", "/too", "/fails", "/too"]);
  });

  it("names the server whose address cannot be used", async () => {
    await using server = await startPageServer({ ...here, pages: {} });
    const taken = { host: "127.0.0.1", port: Number(new URL(server.url).port) };
    await expect(startPageServer({ ...here, address: taken, pages: {} })).rejects.toThrow("cannot serve the test on");
  });
});
