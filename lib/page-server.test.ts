import { request } from "node:https";
import { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { CurrentCertificate } from "./certificate-source.ts";
import { makeAuthority, makeServerCertificate } from "./certificates.ts";
import { silentLogger } from "./log.ts";
import { startPageServer } from "./page-server.ts";

const address = { host: "127.0.0.1", port: 0 };
const here = { name: "the test", address, log: silentLogger };
const text = (body: string, status?: number) => ({ contentType: "text/plain", body, ...(status && { status }) });
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("an authority", validity);
const makePair = () =>
  makeServerCertificate(authority, { commonName: "here", dnsNames: ["localhost"], ipAddresses: [], validity });

/** The body of a page, by someone who trusts the authority of the tests. */
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

describe("a page server", () => {
  it("serves its pages, and says what else it is asked for", async () => {
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

  it("says whose address cannot be had", async () => {
    await using server = await startPageServer({ ...here, pages: {} });
    const taken = { host: "127.0.0.1", port: Number(new URL(server.url).port) };
    await expect(startPageServer({ ...here, address: taken, pages: {} })).rejects.toThrow("cannot serve the test on");
  });
});
