import { describe, expect, it } from "vitest";
import { customResourceDefinitions } from "../../api/crd/definitions.ts";
import { customResourceDefinitionType, type Secret, secretType } from "../../api/kinds/core.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
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
  webhookService,
} from "../../test/support/labs/webhook-world.ts";
import { certificateSecretData, UnusableSecret } from "./certificate-secret.ts";
import { makeCertificates } from "./make-certificates.ts";
import { startManagedCertificates } from "./managed-certificates.ts";
import { settleMs } from "./rotation.ts";

const clusterDomain = "cluster.local";
const dayMs = 24 * 3_600_000;
const start = (client: KubeClient, clock = new FakeClock()) =>
  startManagedCertificates({ client, clock, log: silentLogger, service: webhookService, clusterDomain });

async function putSecret(client: KubeClient, data: Secret["data"]): Promise<void> {
  const metadata = { namespace: webhookService.namespace, name: "agent-sandbox-webhook-certs" };
  await client.create(secretType, { metadata, type: "Opaque", ...(data && { data }) });
}

describe("managed certificates", () => {
  it("are made where there are none, and the API server gets the authority to trust", async () => {
    await using api = await openWebhookApi();
    await using certificates = await start(api.client);
    const secret = await certificateSecretOf(api.client);
    expect(secret.type).toBe("Opaque");
    expect(certificates.current().certificate).toBe(secretText(secret, "tls.crt"));
    const definitions = customResourceDefinitions();
    expect(definitions).toHaveLength(4);
    for (const { metadata } of definitions) {
      const { webhook } = await conversionOf(api.client, metadata.name);
      expect(webhook?.clientConfig).toEqual({
        service: { ...webhookService, path: "/convert" },
        caBundle: secret.data?.["ca.crt"],
      });
    }
  });

  it("are taken from the Secret where they are, with the authority as it stands there", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const { "ca.key": _, ...data } = certificateSecretData(
      await makeCertificates(webhookService, clusterDomain, clock.now()),
    );
    const commented = Buffer.from(`made by hand\n${Buffer.from(data["ca.crt"] ?? "", "base64")}`).toString("base64");
    await putSecret(api.client, { ...data, "ca.crt": commented });
    const before = await certificateSecretOf(api.client);
    await using certificates = await start(api.client, clock);
    expect(certificates.current().certificate).toBe(secretText(before, "tls.crt"));
    expect(await certificateSecretOf(api.client)).toEqual(before);
    const { webhook } = await conversionOf(api.client, sandboxDefinitionName);
    expect(webhook?.clientConfig.caBundle).toBe(commented);
  });

  it("of a Secret full of garbage stop the start, in words that say what to do", async () => {
    await using api = await openWebhookApi();
    await putSecret(api.client, { "ca.crt": "Z2FyYmFnZQ==", "tls.crt": "", "tls.key": "" });
    await expect(start(api.client)).rejects.toThrow(UnusableSecret);
    await expect(start(api.client)).rejects.toThrow("delete it, and a new one is made at the next start");
  });

  it("are the same for replicas that start at once", async () => {
    await using api = await openWebhookApi();
    const replicas = await Promise.all([start(api.client), start(api.client), start(api.client)]);
    const shown = new Set(replicas.map((replica) => replica.current().certificate));
    expect([...shown]).toEqual([secretText(await certificateSecretOf(api.client), "tls.crt")]);
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
  });

  it("write nothing when they start again on the same cluster", async () => {
    await using api = await openWebhookApi();
    await (await start(api.client))[Symbol.asyncDispose]();
    const recording = recordCalls(api.client);
    await using _again = await start(recording);
    const calls = recording.calls.map(({ verb }) => verb).filter((verb) => verb !== "list");
    expect(calls).toEqual(["get", "get", "get", "get", "get"]);
  });
});

describe("the definitions", () => {
  it("that are not installed are skipped", async () => {
    await using api = await openWebhookApi();
    await api.client.delete(customResourceDefinitionType, { name: poolDefinitionName });
    await using _certificates = await start(api.client);
    expect((await conversionOf(api.client, sandboxDefinitionName)).webhook?.clientConfig.caBundle).toBeDefined();
  });

  it("that convert nothing are left alone", async () => {
    await using api = await openWebhookApi();
    await changeConversion(api.client, poolDefinitionName, { strategy: "None", webhook: null });
    await using _certificates = await start(api.client);
    expect(await conversionOf(api.client, poolDefinitionName)).toEqual({ strategy: "None" });
  });

  it("keep the review versions that they have, and the port of the Service", async () => {
    await using api = await openWebhookApi();
    await changeConversion(api.client, poolDefinitionName, {
      webhook: { conversionReviewVersions: ["v1"], clientConfig: { service: { port: 8443, name: "old" } } },
    });
    await changeConversion(api.client, sandboxDefinitionName, { webhook: { conversionReviewVersions: [] } });
    await using _certificates = await start(api.client);
    const { webhook } = await conversionOf(api.client, poolDefinitionName);
    expect(webhook?.conversionReviewVersions).toEqual(["v1"]);
    expect(webhook?.clientConfig.service).toEqual({ ...webhookService, path: "/convert", port: 8443 });
    expect((await conversionOf(api.client, sandboxDefinitionName)).webhook?.conversionReviewVersions).toEqual([
      "v1",
      "v1beta1",
    ]);
  });

  it("are not made while it is unknown whether there are some, which stops the start", async () => {
    await using api = await openWebhookApi();
    const recording = recordCalls(api.client);
    recording.failWith = ({ verb, kind }) =>
      verb === "get" && kind === "Secret" ? new Error("unreachable") : undefined;
    await expect(start(recording)).rejects.toThrow("unreachable");
    expect(recording.calls.filter(({ verb }) => verb === "create")).toEqual([]);
  });

  it("that cannot be written stop the start", async () => {
    await using api = await openWebhookApi();
    const recording = recordCalls(api.client);
    recording.failWith = ({ verb }) => (verb === "patch" ? new Error("forbidden") : undefined);
    await expect(start(recording)).rejects.toThrow("forbidden");
  });
});

describe("certificates that end while the controller runs", () => {
  it("are renewed by all replicas together, and at every moment everything shown is trusted", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    await using one = await start(api.client, clock);
    await using two = await start(api.client, clock);
    const first = one.current();
    const oldBundle = await bundleOf(api.client);

    clock.jumpWall(336 * dayMs);
    await secondsUntil(clock, async () => countOf(await bundleOf(api.client)) === 2);
    expect([one.current(), two.current()]).toEqual([first, first]);

    const same = () => one.current() !== first && one.current().certificate === two.current().certificate;
    await clock.advance(settleMs - 60_000);
    await secondsUntil(clock, same, 10_000);
    expect(clock.ticksMs()).toBeGreaterThanOrEqual(settleMs);
    const secret = await certificateSecretOf(api.client);
    expect(secretText(secret, "tls.crt")).toBe(one.current().certificate);
    expect(await bundleOf(api.client)).toBe(secretText(secret, "ca.crt"));
    expect(await bundleOf(api.client)).not.toBe(oldBundle);
  });

  it("are replaced at once when the controller was away for too long", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const made = await makeCertificates(webhookService, clusterDomain, new Date(clock.now().getTime() - 400 * dayMs));
    await putSecret(api.client, certificateSecretData(made));
    await using certificates = await start(api.client, clock);
    expect(certificates.current()).not.toEqual(made.server);
    expect(countOf(await bundleOf(api.client))).toBe(1);
  });

  it("stay what they are while the API server cannot be asked, and are renewed after that", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const recording = recordCalls(api.client);
    await using certificates = await start(recording, clock);
    const first = certificates.current();
    recording.failWith = () => new Error("unreachable");
    clock.jumpWall(364 * dayMs);
    await clock.advance(120_000);
    expect(certificates.current()).toEqual(first);
    recording.failWith = undefined;
    await secondsUntil(clock, async () => countOf(await bundleOf(api.client)) === 2, 10_000);
    await clock.advance(settleMs - 60_000);
    await secondsUntil(clock, () => certificates.current() !== first, 10_000);
  });
});
