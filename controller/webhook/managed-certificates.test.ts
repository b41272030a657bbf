import { describe, expect, it, vi } from "vitest";
import { customResourceDefinitionType, type Secret, secretType } from "../../api/core.ts";
import type { KubeClient } from "../../kube/client.ts";
import { FakeClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { recordCalls } from "../../test/support/recording-client.ts";
import { waiting } from "../../test/support/waiting.ts";
import {
  certificateSecretOf,
  changeConversion,
  conversionOf,
  openWebhookApi,
  poolDefinitionName,
  sandboxDefinitionName,
  secretText,
  webhookService,
} from "../../test/support/webhook-world.ts";
import { certificateSecretData, UnusableSecret } from "./certificate-secret.ts";
import { makeCertificates } from "./make-certificates.ts";
import { startManagedCertificates } from "./managed-certificates.ts";
import { lookAgainMaxMs, settleMs } from "./rotation.ts";

const clusterDomain = "cluster.local";
const dayMs = 24 * 3_600_000;
const countOf = (pem: string): number => pem.split("BEGIN CERTIFICATE").length - 1;
const start = (client: KubeClient, clock = new FakeClock()) =>
  startManagedCertificates({ client, clock, log: silentLogger, service: webhookService, clusterDomain });

async function putSecret(client: KubeClient, data: Secret["data"]): Promise<void> {
  const metadata = { namespace: webhookService.namespace, name: "agent-sandbox-webhook-certs" };
  await client.create(secretType, { metadata, type: "Opaque", ...(data && { data }) });
}

describe("managed certificates", () => {
  it("O8: are made where there are none, and the API server is told whom to trust", async () => {
    await using api = await openWebhookApi();
    await using certificates = await start(api.client);
    const secret = await certificateSecretOf(api.client);
    expect(secret.type).toBe("Opaque");
    expect(certificates.current().certificate).toBe(secretText(secret, "tls.crt"));
    const { items } = await api.client.list(customResourceDefinitionType);
    expect(items).toHaveLength(4);
    for (const { metadata } of items) {
      const { webhook } = await conversionOf(api.client, metadata.name);
      expect(webhook?.clientConfig).toEqual({
        service: { ...webhookService, path: "/convert" },
        caBundle: secret.data?.["ca.crt"],
      });
    }
  });

  it("O9: are taken from the Secret where they are, with the authority as it stands there", async () => {
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

  it("O10: of a Secret full of garbage stop the start, in words that say what to do", async () => {
    await using api = await openWebhookApi();
    await putSecret(api.client, { "ca.crt": "Z2FyYmFnZQ==", "tls.crt": "", "tls.key": "" });
    await expect(start(api.client)).rejects.toThrow(UnusableSecret);
    await expect(start(api.client)).rejects.toThrow("delete it, and a new one is made at the next start");
  });

  it("O11: are the same for replicas that start at once", async () => {
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
    expect(recording.calls.map(({ verb }) => verb)).toEqual(["get", "get", "get", "get", "get"]);
  });
});

describe("the definitions", () => {
  it("O12: that are not installed are skipped", async () => {
    await using api = await openWebhookApi();
    await api.client.delete(customResourceDefinitionType, { name: poolDefinitionName });
    await using _certificates = await start(api.client);
    expect((await conversionOf(api.client, sandboxDefinitionName)).webhook?.clientConfig.caBundle).toBeDefined();
  });

  it("O13: that convert nothing are left alone", async () => {
    await using api = await openWebhookApi();
    await changeConversion(api.client, poolDefinitionName, { strategy: "None", webhook: null });
    await using _certificates = await start(api.client);
    expect(await conversionOf(api.client, poolDefinitionName)).toEqual({ strategy: "None" });
  });

  it("O14: keep the review versions that they have, and the port of the Service", async () => {
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
    const bundle = async () => (await conversionOf(api.client, sandboxDefinitionName)).webhook?.clientConfig.caBundle;
    const oldBundle = await bundle();

    await clock.advance(336 * dayMs);
    await vi.waitFor(async () => {
      expect(countOf(Buffer.from((await bundle()) ?? "", "base64").toString())).toBe(2);
    }, waiting);
    expect([one.current(), two.current()]).toEqual([first, first]);

    await vi.waitFor(() => expect(clock.pending).toBe(2), waiting);
    await clock.advance(settleMs);
    await vi.waitFor(() => expect(one.current()).not.toEqual(first), waiting);
    await vi.waitFor(() => expect(clock.pending).toBe(2), waiting);
    await clock.advance(dayMs);
    await vi.waitFor(() => expect(two.current()).toEqual(one.current()), waiting);
    const secret = await certificateSecretOf(api.client);
    expect(secretText(secret, "tls.crt")).toBe(one.current().certificate);
    expect(await bundle()).toBe(secret.data?.["ca.crt"]);
    expect(await bundle()).not.toBe(oldBundle);
  });

  it("are replaced at once when the controller was away for too long", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const made = await makeCertificates(webhookService, clusterDomain, new Date(clock.now().getTime() - 400 * dayMs));
    await putSecret(api.client, certificateSecretData(made));
    await using certificates = await start(api.client, clock);
    expect(certificates.current()).not.toEqual(made.server);
    const { webhook } = await conversionOf(api.client, sandboxDefinitionName);
    expect(countOf(Buffer.from(webhook?.clientConfig.caBundle ?? "", "base64").toString())).toBe(1);
  });

  it("stay what they are while the API server cannot be asked, and are renewed after that", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const recording = recordCalls(api.client);
    await using certificates = await start(recording, clock);
    const first = certificates.current();
    recording.failWith = () => new Error("unreachable");
    clock.jumpWall(364 * dayMs);
    await clock.advance(lookAgainMaxMs);
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    expect(certificates.current()).toEqual(first);
    recording.failWith = undefined;
    await clock.advance(60_000);
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    await clock.advance(settleMs);
    await vi.waitFor(() => expect(certificates.current()).not.toEqual(first), waiting);
  });
});
