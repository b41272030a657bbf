import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { ApiUnreachable } from "./errors.ts";
import { createKubeClient } from "./http-client.ts";
import { connectionOfPod } from "./in-pod.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };

const environment = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };

async function aServerPair(name: string) {
  const authority = await makeAuthority(name, validity);
  const request = { commonName: "here", dnsNames: [], ipAddresses: ["127.0.0.1"], validity };
  return { authority: authority.certificate, ...(await makeServerCertificate(authority, request)) };
}

const secretsOfPair = ({ certificate, key }: { readonly certificate: string; readonly key: string }) => ({
  cert: certificate,
  key,
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rouse-in-pod-"));
  await writeFile(join(folder, "token"), "first\n");
  await writeFile(join(folder, "ca.crt"), "an authority");
});
afterEach(() => rm(folder, { recursive: true }));

it("a Pod's connection comes from its variables and its ServiceAccount's files", async () => {
  const connection = connectionOfPod(environment, { folder });
  expect(connection).toMatchObject({ server: "https://10.96.0.1:443", tls: { ca: Buffer.from("an authority") } });
  expect(await connection?.authHeaders()).toEqual({ authorization: "Bearer first" });
});

it("an address of IPv6 is put into brackets", () => {
  const { server } = connectionOfPod({ ...environment, KUBERNETES_SERVICE_HOST: "fd00::1" }, { folder }) ?? {};
  expect(server).toBe("https://[fd00::1]:443");
});

it("a renewed token is used within a minute; after a read error the last one stays", async () => {
  const clock = new FakeClock();
  const connection = connectionOfPod(environment, { folder, clock });
  const token = async () => (await connection?.authHeaders())?.["authorization"];
  await writeFile(join(folder, "token"), "second\n");
  expect(await token()).toBe("Bearer first");
  await clock.advance(60_000);
  expect(await token()).toBe("Bearer second");
  await rm(join(folder, "token"));
  await clock.advance(60_000);
  expect(await token()).toBe("Bearer second");
  await writeFile(join(folder, "token"), "third");
  await clock.advance(60_000);
  expect(await token()).toBe("Bearer third");
});

it("a renewed token is used after a suspension of the machine, and after a refusal", async () => {
  const clock = new FakeClock();
  const connection = connectionOfPod(environment, { folder, clock });
  const token = async () => (await connection?.authHeaders())?.["authorization"];
  await writeFile(join(folder, "token"), "second\n");
  clock.jumpWall(3_600_000);
  expect(await token()).toBe("Bearer second");
  await writeFile(join(folder, "token"), "third\n");
  expect(await token()).toBe("Bearer second");
  connection?.refused?.();
  expect(await token()).toBe("Bearer third");
});

it("a renewed CA is used within a minute; what is no certificate leaves the last one", async () => {
  const clock = new FakeClock();
  const connection = connectionOfPod(environment, { folder, clock });
  const authorityAfter = async (content: string) => {
    await writeFile(join(folder, "ca.crt"), content);
    await clock.advance(60_000);
    await connection?.authHeaders();
    return String(connection?.tls.ca);
  };
  const { certificate } = await makeAuthority("second", validity);
  expect(await authorityAfter("")).toBe("an authority");
  expect(await authorityAfter(certificate)).toBe(certificate);
  const known = connection?.tls;
  expect(await authorityAfter(certificate.slice(0, 100))).toBe(certificate);
  await rm(join(folder, "ca.crt"));
  await clock.advance(60_000);
  await connection?.authHeaders();
  expect(connection?.tls).toBe(known);
});

it("a client in a Pod reaches a server whose CA was replaced, after one call that fails", async () => {
  const [before, after] = [await aServerPair("before"), await aServerPair("after")];
  const server = createServer(secretsOfPair(before), (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ kind: "Pod" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await writeFile(join(folder, "ca.crt"), before.authority);
  const at = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
  const connection = connectionOfPod(at, { folder });
  if (!connection) throw new Error("no connection");
  await using client = createKubeClient(connection, { userAgent: "rouse-test" });
  const get = () => client.get(podType, { namespace: "default", name: "nova" });
  expect(await get()).toMatchObject({ kind: "Pod" });
  server.setSecureContext(secretsOfPair(after));
  server.closeAllConnections();
  await writeFile(join(folder, "ca.crt"), after.authority);
  await expect(get()).rejects.toThrow(ApiUnreachable);
  expect(await get()).toMatchObject({ kind: "Pod" });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it("the connection is undefined outside of a Pod, or without a ServiceAccount's files", async () => {
  expect(connectionOfPod({}, { folder })).toBeUndefined();
  await rm(join(folder, "ca.crt"));
  expect(connectionOfPod(environment, { folder })).toBeUndefined();
});
