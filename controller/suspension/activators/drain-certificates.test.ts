import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { drainSecretKeys, drainSecretName, drainServerName } from "../../../api/between-programs/drain-credentials.ts";
import { secretType } from "../../../api/kinds/core.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { recordCalls } from "../../../test/support/fakes/recording-client.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { startDrainCertificates } from "./drain-certificates.ts";

const namespace = "agent-sandbox-system";
const name = { namespace, name: drainSecretName };
const dayMs = 24 * 3_600_000;

const openLab = async () => {
  const api = await openMemoryApi();
  const clock = new FakeClock();
  return { api, clock, options: { client: api.client, clock, log: silentLogger, namespace } };
};

describe("the certificates of the drain listener", () => {
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

  it("are an error of the API server if it refuses the Secret", async () => {
    const { api, options } = await openLab();
    await using _api = api;
    const client = recordCalls(api.client);
    client.failWith = ({ verb }) => (verb === "create" ? new Error("denied by policy") : undefined);
    await expect(startDrainCertificates({ ...options, client })).rejects.toThrow("denied by policy");
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

  it("are made again when a clock ahead of time made them, at a restart and while the controller runs", async () => {
    const { api, clock, options } = await openLab();
    await using _api = api;
    const ahead = { ...options, clock: new FakeClock(new Date(clock.now().getTime() + 2 * dayMs)) };
    await using running = await startDrainCertificates(ahead);
    const madeAhead = running.current();
    await using restarted = await startDrainCertificates(options);
    const { certificate } = restarted.current();
    expect(new X509Certificate(certificate).validFromDate <= clock.now()).toBe(true);
    await api.client.delete(secretType, name);
    await using again = await startDrainCertificates(ahead);
    expect(again.current()).not.toEqual(madeAhead);
    ahead.clock.jumpWall(-2 * dayMs);
    await eventually(async () => {
      await ahead.clock.advance(1_000);
      return new X509Certificate(again.current().certificate).validFromDate <= clock.now();
    });
  });

  it("are made again if another authority signed them", async () => {
    const { api, options } = await openLab();
    await using _api = api;
    const other = await (async () => {
      await using running = await startDrainCertificates(options);
      return running.current();
    })();
    await api.client.delete(secretType, name);
    await (await startDrainCertificates(options))[Symbol.asyncDispose]();
    const data = { [drainSecretKeys.authorities]: Buffer.from(other.authorities).toString("base64") };
    await api.client.patch(secretType, name, { type: "merge", body: { data } });
    await using running = await startDrainCertificates(options);
    const { certificate, authorities } = running.current();
    const newest = new X509Certificate(authorities);
    expect(new X509Certificate(certificate).verify(newest.publicKey)).toBe(true);
  });

  it("are made again if the Secret has other content", async () => {
    const { api, options } = await openLab();
    await using _api = api;
    const data = { [drainSecretKeys.authorities]: Buffer.from("nonsense").toString("base64") };
    await api.client.create(secretType, { apiVersion: "v1", kind: "Secret", metadata: name, data });
    await using running = await startDrainCertificates(options);
    expect(running.current().authorities).toMatch(/^-----BEGIN CERTIFICATE-----/);
  });

  it.each(["controllerKey", "activatorKey"] as const)(
    "are made again if %s is not the key of its certificate",
    async (part) => {
      const { api, options } = await openLab();
      await using _api = api;
      await (await startDrainCertificates(options))[Symbol.asyncDispose]();
      const before = await api.client.get(secretType, name);
      const other = part === "controllerKey" ? "activatorKey" : "controllerKey";
      const wrong = before.data?.[drainSecretKeys[other]] ?? "";
      const body = { data: { [drainSecretKeys[part]]: wrong } };
      await api.client.patch(secretType, name, { type: "merge", body });
      await using running = await startDrainCertificates(options);
      const { data = {} } = await api.client.get(secretType, name);
      expect(data[drainSecretKeys[part]]).not.toBe(wrong);
      const key = createPrivateKey(running.current().key);
      expect(new X509Certificate(running.current().certificate).checkPrivateKey(key)).toBe(true);
    },
  );

  it("are made again at once when their Secret is deleted, because a starting activator waits for it", async () => {
    const { api, clock, options } = await openLab();
    await using _api = api;
    await using leader = await startDrainCertificates(options);
    await using standby = await startDrainCertificates(options);
    const before = leader.current();
    await api.client.delete(secretType, name);
    await eventually(async () => {
      await clock.advance(100);
      return leader.current() !== before && standby.current().certificate === leader.current().certificate;
    });
    const { data = {} } = await api.client.get(secretType, name);
    const mine = Buffer.from(data[drainSecretKeys.controllerCertificate] ?? "", "base64").toString();
    expect([leader.current().certificate, clock.ticksMs() < 60_000]).toEqual([mine, true]);
  });

  it("cost no call while they do not change", async () => {
    const { api, clock, options } = await openLab();
    await using _api = api;
    const client = recordCalls(api.client);
    await using _running = await startDrainCertificates({ ...options, client });
    await eventually(() => client.calls.some(({ verb }) => verb === "list"));
    const calls = client.calls.length;
    await clock.advance(3_600_000);
    expect(client.calls).toHaveLength(calls);
  });
});
