import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { secretType } from "../../api/core.ts";
import { drainSecretKeys, drainSecretName, drainServerName } from "../../api/drain-credentials.ts";
import { FakeClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startDrainCertificates } from "./drain-certificates.ts";

const namespace = "agent-sandbox-system";
const name = { namespace, name: drainSecretName };
const dayMs = 24 * 3_600_000;

const openLab = async () => {
  const api = await openMemoryApi();
  const clock = new FakeClock();
  return { api, clock, options: { client: api.client, clock, log: silentLogger, namespace } };
};

describe("the certificates of the drain port", () => {
  it("are made once, for every replica, and each side's is vouched for", async () => {
    const { api, options } = await openLab();
    await using _api = api;
    await using first = await startDrainCertificates(options);
    await using second = await startDrainCertificates(options);
    expect(second.current()).toEqual(first.current());
    const { data = {} } = await api.client.get(secretType, name);
    const part = (key: string) => Buffer.from(data[key] ?? "", "base64");
    const authority = new X509Certificate(part(drainSecretKeys.authorities));
    const theirs = new X509Certificate(part(drainSecretKeys.activatorCertificate));
    expect(theirs.checkHost(drainServerName)).toBe(drainServerName);
    expect(theirs.verify(authority.publicKey)).toBe(true);
    expect(new X509Certificate(first.current().certificate).verify(authority.publicKey)).toBe(true);
  });

  it("are renewed before they end, and the former authority is still believed", async () => {
    const { api, clock, options } = await openLab();
    await using _api = api;
    const before = await api.client.list(secretType, { namespace });
    expect(before.items).toEqual([]);
    const old = await (async () => {
      await using running = await startDrainCertificates(options);
      return running.current();
    })();
    clock.jumpWall(340 * dayMs);
    await using running = await startDrainCertificates(options);
    expect(running.current().certificate).not.toBe(old.certificate);
    expect(running.current().authorities).toContain(old.authorities.trim());
  });

  it("are made anew where the Secret holds something else", async () => {
    const { api, options } = await openLab();
    await using _api = api;
    const data = { [drainSecretKeys.authorities]: Buffer.from("nonsense").toString("base64") };
    await api.client.create(secretType, { apiVersion: "v1", kind: "Secret", metadata: name, data });
    await using running = await startDrainCertificates(options);
    expect(running.current().authorities).toMatch(/^-----BEGIN CERTIFICATE-----/);
  });
});
