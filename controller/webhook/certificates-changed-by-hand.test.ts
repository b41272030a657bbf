import { describe, expect, it } from "vitest";
import { secretType } from "../../api/kinds/core.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { recordCalls } from "../../test/support/fakes/recording-client.ts";
import {
  bundleOf,
  certificateSecretOf,
  changeConversion,
  conversionOf,
  countOf,
  openWebhookApi,
  poolDefinitionName,
  sandboxDefinitionName,
  secondsUntil,
  secretText,
  trusts,
  webhookService,
} from "../../test/support/labs/webhook-world.ts";
import { certificateSecretData } from "./certificate-secret.ts";
import { makeCertificates } from "./make-certificates.ts";
import { certificateSecretName, startManagedCertificates } from "./managed-certificates.ts";
import { settleMs } from "./rotation.ts";
import { conversionPath, trustAuthorities } from "./trusted-authorities.ts";

const clusterDomain = "cluster.local";
const start = (client: KubeClient, clock = new FakeClock()) =>
  startManagedCertificates({ client, clock, log: silentLogger, service: webhookService, clusterDomain });

const deleteSecret = (client: KubeClient) =>
  client.delete(secretType, { namespace: webhookService.namespace, name: certificateSecretName });

describe("a Secret that is deleted while replicas run", () => {
  it("is made anew, and shown by all of them, within seconds", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    await using one = await start(api.client, clock);
    await using two = await start(api.client, clock);
    const before = one.current();
    await deleteSecret(api.client);
    await secondsUntil(
      clock,
      () => one.current() !== before && two.current().certificate === one.current().certificate,
    );
    expect(one.current().certificate).toBe(secretText(await certificateSecretOf(api.client), "tls.crt"));
  });

  it("leaves no replica with an untrusted certificate, and the former authority is removed later", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const away = recordCalls(api.client);
    await using slow = await start(away, clock);
    const former = slow.current();
    away.failWith = () => new Error("unreachable");
    await deleteSecret(api.client);
    await using anew = await start(api.client, clock);
    expect(slow.current()).toEqual(former);
    expect(await Promise.all([trusts(api.client, slow), trusts(api.client, anew)])).toEqual([true, true]);
    await clock.advance(settleMs - 60_000);
    expect(await trusts(api.client, slow, poolDefinitionName)).toBe(true);

    away.failWith = undefined;
    await secondsUntil(clock, () => slow.current().certificate === anew.current().certificate);
    await secondsUntil(clock, async () => countOf(await bundleOf(api.client)) === 1, 5_000);
    expect(await bundleOf(api.client)).toBe(secretText(await certificateSecretOf(api.client), "ca.crt"));
    expect(clock.ticksMs()).toBeGreaterThanOrEqual(settleMs);
  });
});

describe("a change by hand", () => {
  it("of the Secret is shown within seconds, beside what was trusted before", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    await using certificates = await start(api.client, clock);
    const former = certificates.current();
    const set = await makeCertificates(webhookService, clusterDomain, clock.now());
    const secret = await certificateSecretOf(api.client);
    await api.client.replace(secretType, { ...secret, data: certificateSecretData(set) });
    await secondsUntil(clock, () => certificates.current().certificate === set.server.certificate);
    expect(certificates.current()).not.toEqual(former);
    expect(countOf(await bundleOf(api.client))).toBe(2);
    expect(await trusts(api.client, certificates)).toBe(true);
  });

  it.each([
    { what: "loses its bundle", conversion: { webhook: { clientConfig: { caBundle: null } } } },
    { what: "loses its Service", conversion: { webhook: { clientConfig: { service: { name: "other" } } } } },
  ])("of a definition that $what is put back within seconds", async ({ conversion }) => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    await using certificates = await start(api.client, clock);
    await changeConversion(api.client, poolDefinitionName, conversion);
    const reached = async () =>
      (await trusts(api.client, certificates, poolDefinitionName)) &&
      (await conversionOf(api.client, poolDefinitionName)).webhook?.clientConfig.service.name === webhookService.name;
    expect(await secondsUntil(clock, reached)).toBeLessThan(60);
  });

  it("by two programs that undo each other's writes becomes a few writes a minute", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const recording = recordCalls(api.client);
    await using _certificates = await start(recording, clock);
    const patches = () => recording.calls.filter(({ verb }) => verb === "patch").length;
    const first = patches();
    for (let round = 0; patches() < first + 8; round += 1) {
      const { webhook } = await conversionOf(api.client, poolDefinitionName);
      if (webhook?.clientConfig.caBundle !== undefined) {
        await changeConversion(api.client, poolDefinitionName, { webhook: { clientConfig: { caBundle: null } } });
      }
      await clock.advance(1_000);
      expect(round).toBeLessThan(5_000);
    }
    expect(clock.ticksMs()).toBeGreaterThan(90_000);
  });

  it("costs no call while nothing changes", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const recording = recordCalls(api.client);
    await using _certificates = await start(recording, clock);
    await eventually(() => recording.calls.filter(({ verb }) => verb === "list").length === 5);
    const calls = recording.calls.length;
    await clock.advance(3_600_000);
    expect(recording.calls).toHaveLength(calls);
  });
});

describe("a definition that another client changes between the read and the write of a replica", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const conversion = (bundle: string) => ({
    strategy: "Webhook",
    webhook: {
      clientConfig: { service: { ...webhookService, path: conversionPath }, caBundle: base64(bundle) },
      conversionReviewVersions: ["v1"],
    },
  });
  const trust = {
    service: webhookService,
    caBundle: base64("ours\n"),
    former: { keptOf: (bundle: string) => (bundle.includes("theirs") ? ["theirs"] : []) },
  };

  it("keeps the authority that was added", async () => {
    await using api = await openWebhookApi();
    await changeConversion(api.client, sandboxDefinitionName, conversion("before\n"));
    let patches = 0;
    const client = interceptCalls(api.client, async ({ verb, name }, proceed) => {
      if (verb !== "patch" || name !== sandboxDefinitionName) return proceed();
      patches += 1;
      if (patches === 1) await changeConversion(api.client, sandboxDefinitionName, conversion("theirs\n"));
      return proceed();
    });
    await trustAuthorities(client, trust);
    expect(await bundleOf(api.client)).toBe("ours\ntheirs\n");
    expect(patches).toBe(2);
  });

  it("is given up with a conflict if it changes each time", async () => {
    await using api = await openWebhookApi();
    await changeConversion(api.client, sandboxDefinitionName, conversion("before\n"));
    let patches = 0;
    const client = interceptCalls(api.client, async ({ verb, name }, proceed) => {
      if (verb !== "patch" || name !== sandboxDefinitionName) return proceed();
      patches += 1;
      await changeConversion(api.client, sandboxDefinitionName, conversion(`before ${patches}\n`));
      return proceed();
    });
    await expect(trustAuthorities(client, trust)).rejects.toMatchObject({ code: 409 });
    expect(patches).toBe(5);
  });
});
