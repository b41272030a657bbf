import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Gauge, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { NoCertificateFiles } from "../../lib/certificates/certificate-files.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { ConfigError, parseControllerConfig } from "../config/config.ts";
import { serveMetrics } from "./serve-metrics.ts";

function serve(...flags: readonly string[]) {
  const { metrics } = parseControllerConfig(["--metrics-bind-address=127.0.0.1:0", ...flags]);
  if (!metrics) throw new Error("metrics are to be served here");
  const registry = new Registry();
  let collected = 0;
  new Gauge({
    ...{ name: "collections", help: "How often this was collected.", registers: [registry] },
    collect() {
      collected += 1;
      this.set(collected);
    },
  });
  return serveMetrics(metrics, { registry, clock: systemClock, log: silentLogger });
}

/** The status of a page that is served with a self-signed certificate. */
const statusOf = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });

describe("metrics", () => {
  it("are served over HTTPS when asked to, with a certificate made for it unless one is given", async () => {
    await using server = await serve("--metrics-secure-serving");
    expect(server.url).toMatch(/^https:/);
    expect(await statusOf(`${server.url}/metrics`)).toBe(200);
    await expect(fetch(`${server.url.replace("https", "http")}/metrics`)).rejects.toThrow("fetch failed");
  });

  it("are collected once for all concurrent requests", async () => {
    await using server = await serve();
    const scrape = async () => (await fetch(`${server.url}/metrics`)).text();
    const pages = await Promise.all(Array.from({ length: 16 }, scrape));
    expect(pages.filter((page) => page.includes("collections 1\n"))).toHaveLength(16);
  });

  it("stop the start where a certificate is promised that is not there", async () => {
    const directory = await mkdtemp(join(tmpdir(), "metrics-certs-"));
    const promised = serve("--metrics-secure-serving", `--metrics-cert-dir=${directory}`);
    await expect(promised).rejects.toThrow(NoCertificateFiles);
    await rm(directory, { recursive: true });
  });

  it("are encrypted by the version and suites that are asked for, by their names elsewhere", () => {
    const tlsOf = (...flags: readonly string[]) =>
      parseControllerConfig(["--metrics-secure-serving", ...flags]).metrics?.tls;
    expect(tlsOf()).toEqual({ files: undefined, minVersion: "TLSv1.2", ciphers: undefined });
    const suites =
      "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_256_CBC_SHA,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305";
    expect(tlsOf("--tls-min-version=VersionTLS13", `--tls-cipher-suites=${suites}`)).toMatchObject({
      minVersion: "TLSv1.3",
      ciphers: "ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA:ECDHE-ECDSA-CHACHA20-POLY1305",
    });
    expect(() => tlsOf("--tls-min-version=1.2")).toThrow(ConfigError);
    for (const suite of ["TLS_RSA_WITH_RC4_128_SHA", "AES256-SHA", "TLS_AES_128_GCM_SHA256x"]) {
      expect(() => tlsOf(`--tls-cipher-suites=${suite}`)).toThrow("is not a cipher suite that can be chosen");
    }
  });
});

describe("profiles", () => {
  it("are not served unless asked for", async () => {
    await using server = await serve();
    expect((await fetch(`${server.url}/debug/pprof/profile?seconds=1`)).status).toBe(404);
  });

  it("are of the processor alone by one flag, and one is made at a time", async () => {
    await using server = await serve("--enable-pprof");
    const url = `${server.url}/debug/pprof/profile`;
    const first = fetch(`${url}?seconds=2`);
    // The start of a profile stops this process for a while. A timer that is due after it comes after that.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await fetch(`${url}?seconds=2`)).status).toBe(500);
    const made = await first;
    expect(made.status).toBe(200);
    expect(await made.json()).toMatchObject({ nodes: expect.any(Array), samples: expect.any(Array) });
    for (const seconds of ["0", "many", "301"]) expect((await fetch(`${url}?seconds=${seconds}`)).status).toBe(400);
    expect((await fetch(`${server.url}/debug/pprof/heap`)).status).toBe(404);
  });

  it("are all that Node knows with the other option, and the rest is listed as missing", async () => {
    await using server = await serve("--enable-pprof-debug");
    const get = (path: string) => fetch(`${server.url}/debug/pprof/${path}`);
    expect(await (await get("")).text()).toContain("/debug/pprof/heap\n");
    expect(await (await get("heap")).json()).toMatchObject({ head: expect.any(Object) });
    expect(await (await get("goroutine")).text()).toMatch(/^\d+ \w+$/m);
    expect(await (await get("block")).text()).toContain("delay of the event loop: p50 ");
    expect(await (await get("cmdline")).text()).toContain("\0");
    for (const none of ["mutex", "symbol", "trace"]) expect((await get(none)).status).toBe(501);
  });
});
