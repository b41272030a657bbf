import { spawn } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeAuthority, makeServerCertificate } from "../../../lib/certificates/certificates.ts";
import { openActivatorWorld, sandboxPort } from "../../support/labs/activator-world.ts";
import { allBrowsers, browserLimitMs } from "./browsers/all-browsers.ts";

const validity = { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 86_400_000) };
const authority = await makeAuthority("of the browsers", validity);
const domain = "default.sandbox.localhost";
const pair = await makeServerCertificate(authority, {
  ...{ commonName: "here", dnsNames: [`*.${domain}`], ipAddresses: [], validity },
});
const publicKey = new X509Certificate(pair.certificate).publicKey.export({ type: "spki", format: "der" });
const pin = createHash("sha256").update(publicKey).digest("base64");

/** The program of examples/hello. */
async function startHello(podIp: string, directory: string): Promise<AsyncDisposable> {
  const env = { ...process.env, POD_IP: podIp, PORT: String(sandboxPort), ROUSE_VOLUME_DATA: directory };
  const child = spawn(process.execPath, ["examples/hello/server.mjs"], { env, stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data"); // it says that it listens
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** The streams of HTTP/2 that the activator of this process is asked for, as `METHOD PATH`. */
function watchStreams(): Disposable & { readonly asked: readonly string[] } {
  const asked: string[] = [];
  const note = (message: unknown) => {
    const { headers } = message as { readonly headers: Readonly<Record<string, string>> };
    asked.push([headers[":method"], headers[":protocol"], headers[":path"]].filter(Boolean).join(" "));
  };
  const channel = "http2.server.stream.created";
  subscribe(channel, note);
  return { asked, [Symbol.dispose]: () => void unsubscribe(channel, note) };
}

async function openWorld(directory: string) {
  const [certificate, key] = [join(directory, "tls.crt"), join(directory, "tls.key")];
  await writeFile(certificate, pair.certificate);
  await writeFile(key, pair.key);
  return openActivatorWorld([
    ...["--http2", "--https-bind-address=127.0.0.1:0"],
    ...[`--tls-cert-file=${certificate}`, `--tls-key-file=${key}`],
  ]);
}

/** The page of the example is there once its event stream and its WebSocket have said something. */
const isWhole = (text: string) => text.includes("The event stream: beat ") && text.includes("says: are you awake?");
const protocolOfPage = 'performance.getEntriesByType("navigation")[0].nextHopProtocol';

describe.each(allBrowsers(pin))("$name", ({ path, start }) => {
  it.skipIf(path === undefined)(
    "wakes a sandbox over TLS, and gets its page, event stream and WebSocket over HTTP/2",
    async () => {
      await using directory = await mkdtempDisposable(join(tmpdir(), "browsers-"));
      await using world = await openWorld(directory.path);
      await world.asleep("hello", (podIp) => startHello(podIp, directory.path));
      expect(world.kubelet.made("hello")).toBe(0);
      await using browser = await start(path ?? "");
      using streams = watchStreams();
      await browser.open(`https://hello.${domain}:${world.activator.tlsPort}/`);
      // The wait page may come first, and is replaced.
      const text = () => browser.evaluate("document.body.innerText").catch(String);
      await expect.poll(text, { timeout: 60_000 }).toSatisfy(isWhole);
      expect(await browser.evaluate(protocolOfPage)).toBe("h2");
      expect(streams.asked).toEqual(expect.arrayContaining(["GET /", "GET /events", "CONNECT websocket /ws"]));
      expect(world.kubelet.made("hello")).toBe(1);
    },
    browserLimitMs,
  );
});
