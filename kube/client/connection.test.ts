import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { bareEnvironment, packagesIn, tellLoaded } from "../../test/support/program.ts";
import { connectionFor, loadConnection, NoConnection } from "./connection.ts";
import { ApiUnreachable } from "./errors.ts";
import { createKubeClient } from "./http-client.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rouse-connection-"));
  vi.stubEnv("HOME", folder);
  vi.stubEnv("KUBECONFIG", "");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Writes a kubeconfig with one context and returns its path. */
async function writeKubeconfig(user: object, cluster: object = {}): Promise<string> {
  const path = join(folder, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://api.test:6443", ...cluster } }],
    users: [{ name: "u", user }],
  };
  await writeFile(path, JSON.stringify(config)); // JSON is YAML
  return path;
}

const load = (options: { readonly kubeconfig?: string } = {}) =>
  loadConnection({ ...options, environment: process.env });
const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("a connection", () => {
  it("comes from the given kubeconfig", async () => {
    const kubeconfig = await writeKubeconfig(
      { token: "s3cret" },
      { "certificate-authority-data": base64("a ca"), "tls-server-name": "api.internal" },
    );
    const connection = await load({ kubeconfig });
    expect(connection.server).toBe("https://api.test:6443");
    expect(connection.tls).toMatchObject({ ca: Buffer.from("a ca"), servername: "api.internal" });
    expect(await connection.authHeaders()).toEqual({ authorization: "Bearer s3cret" });
  });

  it("comes from KUBECONFIG if none was given", async () => {
    vi.stubEnv("KUBECONFIG", await writeKubeconfig({ username: "ada", password: "pw" }));
    const connection = await load();
    expect(await connection.authHeaders()).toEqual({ authorization: `Basic ${base64("ada:pw")}` });
  });

  it("comes from the home directory if neither is given", async () => {
    await mkdir(join(folder, ".kube"));
    await rename(await writeKubeconfig({ token: "s3cret" }), join(folder, ".kube", "config"));
    const connection = await loadConnection({ environment: { HOME: folder } });
    expect(await connection.authHeaders()).toEqual({ authorization: "Bearer s3cret" });
  });

  it("has the CA and the client certificate that their files have now", async () => {
    const file = (name: string) => join(folder, name);
    const write = (text: string) =>
      Promise.all(["ca", "certificate", "key"].map((name) => writeFile(file(name), `${text} ${name}`)));
    await write("first");
    const connection = await load({
      kubeconfig: await writeKubeconfig(
        { "client-certificate": file("certificate"), "client-key": file("key") },
        { "certificate-authority": file("ca") },
      ),
    });
    const first = connection.tls;
    await connection.authHeaders();
    expect(connection.tls).toBe(first);
    await write("second");
    await connection.authHeaders();
    expect(Object.values(connection.tls).map(String)).toEqual(["second ca", "second certificate", "second key"]);
  });

  it("presents a client certificate", async () => {
    const kubeconfig = await writeKubeconfig({
      "client-certificate-data": base64("a certificate"),
      "client-key-data": base64("a key"),
    });
    const { tls } = await load({ kubeconfig });
    expect(tls).toEqual({ cert: Buffer.from("a certificate"), key: Buffer.from("a key") });
  });

  it("asks an exec plugin for its token", async () => {
    const credential = JSON.stringify({ status: { token: "from-plugin" } });
    const script = `process.stdout.write(${JSON.stringify(credential)})`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args: ["-e", script] };
    const connection = await load({ kubeconfig: await writeKubeconfig({ exec }) });
    expect(await connection.authHeaders()).toEqual({ authorization: "Bearer from-plugin" });
  });

  it("takes a token from a file, without the line break at its end", async () => {
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, "from-file\n");
    const kubeconfig = await writeKubeconfig({ "auth-provider": { name: "tokenFile", config: { tokenFile } } });
    const connection = await load({ kubeconfig });
    expect(await connection.authHeaders()).toEqual({ authorization: "Bearer from-file" });
  });

  it("asks an exec plugin for its client certificate", async () => {
    const status = { clientCertificateData: "a certificate", clientKeyData: "a key" };
    const script = `process.stdout.write(${JSON.stringify(JSON.stringify({ status }))})`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args: ["-e", script] };
    const { tls } = await load({ kubeconfig: await writeKubeconfig({ exec }) });
    expect(tls).toEqual({ cert: "a certificate", key: "a key" });
  });

  it("sends no credentials over plain HTTP", async () => {
    const kubeconfig = await writeKubeconfig({ token: "s3cret" }, { server: "http://127.0.0.1:8001" });
    const connection = await load({ kubeconfig });
    expect(connection.server).toBe("http://127.0.0.1:8001");
    expect(await connection.authHeaders()).toEqual({});
  });

  it.each(["the flag", "KUBECONFIG"])(
    "to a plain HTTP server in one context from %s loads no library",
    async (from) => {
      const kubeconfig = await writeKubeconfig({ token: "s3cret" }, { server: "http://127.0.0.1:8001/" });
      const script = `
      import { loadConnection } from ${JSON.stringify(new URL("connection.ts", import.meta.url).href)};
      const { KUBECONFIG } = process.env;
      const connection = await loadConnection(KUBECONFIG ? { environment: process.env }
        : { kubeconfig: ${JSON.stringify(kubeconfig)}, environment: process.env });
      process.stdout.write("server " + connection.server + "\\n");`;
      const env = bareEnvironment({ HOME: folder, ...(from === "KUBECONFIG" && { KUBECONFIG: kubeconfig }) });
      const args = ["--import", tellLoaded, "--input-type=module", "--eval", script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      expect(stdout).toContain("server http://127.0.0.1:8001\n");
      expect([...packagesIn(stdout)]).not.toContain("@kubernetes/client-node");
    },
  );

  it("of several contexts is that of the current one, also to a plain HTTP server", async () => {
    const path = join(folder, "several");
    const context = (name: string, server: string) => ({
      context: { name, context: { cluster: name, user: "u" } },
      cluster: { name, cluster: { server } },
    });
    const all = [context("there", "http://127.0.0.1:8001"), context("here", "http://127.0.0.1:8002")];
    const [contexts, clusters] = [all.map((each) => each.context), all.map((each) => each.cluster)];
    await writeFile(path, JSON.stringify({ contexts, clusters, users: [], "current-context": "here" }));
    expect((await load({ kubeconfig: path })).server).toBe("http://127.0.0.1:8002");
  });

  it("fails with the remedy if nothing is configured", async () => {
    await expect(load()).rejects.toThrow(/give --kubeconfig, set KUBECONFIG/);
    await expect(load()).rejects.toThrow(NoConnection);
  });

  it("is refused when the kubeconfig is missing, broken, without a cluster, or asks for a proxy", async () => {
    const broken = join(folder, "broken");
    await writeFile(broken, "clusters: {");
    const empty = join(folder, "empty");
    await writeFile(empty, "apiVersion: v1\nkind: Config\n");
    const proxied = await writeKubeconfig({}, { "proxy-url": "http://proxy.test" });
    for (const kubeconfig of [join(folder, "missing"), broken, empty, proxied]) {
      await expect(load({ kubeconfig })).rejects.toThrow(NoConnection);
    }
  });
});

it("a server is believed only if the connection's authority has signed its certificate", async () => {
  const validity = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2099-01-01T00:00:00Z") };
  const authority = await makeAuthority("test-ca", validity);
  const names = { commonName: "api", dnsNames: [], ipAddresses: ["127.0.0.1"] };
  const { certificate: cert, key } = await makeServerCertificate(authority, { ...names, validity });
  const aPod = { metadata: { name: "nova" } };
  const server = createServer({ cert, key }, (_, response) => response.end(JSON.stringify(aPod)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await using trusting = createKubeClient(connectionFor({ server: url, ca: authority.certificate }), {
      userAgent: "t",
    });
    expect(await trusting.get(podType, { name: "nova" })).toEqual(aPod);
    await using doubting = createKubeClient(connectionFor({ server: url }), { userAgent: "t" });
    await expect(doubting.get(podType, { name: "nova" })).rejects.toThrow(ApiUnreachable);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
