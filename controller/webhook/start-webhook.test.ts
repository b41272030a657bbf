import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { customResourceDefinitions } from "../../api/crd/definitions.ts";
import { v1alpha1StateAnnotations } from "../../api/rules/keys.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { checkEveryMs } from "../../lib/certificates/certificate-files.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { generatedAlpha } from "../../test/support/builders/generated-versions.ts";
import { aBetaSandbox, anAlphaSandbox, core } from "../../test/support/builders/versions.ts";
import {
  callWebhook,
  certificateSecretOf,
  conversionOf,
  openWebhookApi,
  reviewOf,
  sandboxDefinitionName,
  secretText,
  type WebhookCall,
  webhookService,
} from "../../test/support/labs/webhook-world.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { waiting } from "../../test/support/waiting.ts";
import { parseControllerConfig } from "../config/config.ts";
import { startController } from "../start.ts";
import { makeCertificates } from "./make-certificates.ts";
import { startWebhook } from "./start-webhook.ts";
import type { WebhookConfig } from "./webhook-config.ts";

const clusterDomain = "cluster.local";
const managed: WebhookConfig = { port: 0, service: webhookService, certificateFiles: undefined };

async function openWebhook() {
  const api = await openWebhookApi();
  const registry = new Registry();
  const parts = { client: api.client, clock: systemClock, log: silentLogger, clusterDomain, registry };
  const webhook = await startWebhook(managed, parts);
  const ca = secretText(await certificateSecretOf(api.client), "ca.crt");
  return {
    registry,
    call: (call: Partial<WebhookCall> = {}) => callWebhook({ port: webhook.port, ca, ...call }),
    async [Symbol.asyncDispose]() {
      await webhook[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

describe("the conversion webhook", () => {
  let webhook: Awaited<ReturnType<typeof openWebhook>>;
  beforeAll(async () => {
    webhook = await openWebhook();
  });
  afterAll(() => webhook[Symbol.asyncDispose]());

  it("answers reviews both ways, to callers that trust only what the definitions say", async () => {
    const upwards = await webhook.call({ body: reviewOf([anAlphaSandbox({ replicas: 0 })], core.beta) });
    expect(upwards.code).toBe(200);
    const answer = JSON.parse(upwards.text);
    expect(answer).toMatchObject({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      response: {
        uid: "uid-of-review",
        result: { status: "Success" },
        convertedObjects: [{ apiVersion: core.beta, spec: { operatingMode: "Suspended" } }],
      },
    });
    const downwards = await webhook.call({ body: reviewOf(answer.response.convertedObjects, core.alpha) });
    expect(JSON.parse(downwards.text).response.convertedObjects).toEqual([anAlphaSandbox({ replicas: 0 })]);
  });

  it("converts a list in which one object's v1alpha1 original cannot be read, and counts that", async () => {
    const good = aBetaSandbox();
    const annotations = { [v1alpha1StateAnnotations.Sandbox]: "{" };
    const broken = { ...good, metadata: { ...good.metadata, name: "broken", annotations } };
    const { text } = await webhook.call({ body: reviewOf([good, broken], core.alpha) });
    expect(JSON.parse(text).response).toMatchObject({
      result: { status: "Success" },
      convertedObjects: [{ spec: { replicas: 1 } }, { spec: { replicas: 1 } }],
    });
    expect(await webhook.registry.metrics()).toContain("rouse_conversion_ignored_states_total 1");
  });

  it("converts a list of 5 000 in one call", async () => {
    const objects = Array.from({ length: 5_000 }, (_, seed) => generatedAlpha.Sandbox(seededRandom(seed)));
    const { code, text } = await webhook.call({ body: reviewOf(objects, core.beta) });
    expect(code).toBe(200);
    expect(JSON.parse(text).response.convertedObjects).toHaveLength(5_000);
  });

  it("passes on the longest int64 as it is", async () => {
    const review = JSON.stringify(reviewOf([anAlphaSandbox({ replicas: 0 })], core.beta));
    const longest = '"spec":{"podTemplate":{"spec":{"terminationGracePeriodSeconds":9223372036854775807,';
    const body = review.replace('"spec":{"podTemplate":{"spec":{', longest);
    expect((await webhook.call({ body })).text).toContain('"terminationGracePeriodSeconds":9223372036854775807');
  });

  it("says what it cannot convert, and why", async () => {
    const { code, text } = await webhook.call({ body: reviewOf([aBetaSandbox()], "agents.x-k8s.io/v2") });
    expect(code).toBe(200);
    expect(JSON.parse(text).response).toEqual({
      uid: "uid-of-review",
      convertedObjects: [],
      result: { status: "Failed", message: 'Sandbox has no version "agents.x-k8s.io/v2"' },
    });
  });

  it.each(customResourceDefinitions().map(({ spec }) => spec))(
    "converts the kind of each definition that it serves: $names.kind",
    async ({ group, names: { kind } }) => {
      const object = { apiVersion: `${group}/v1alpha1`, kind, metadata: { name: "one", namespace: "lab", uid: "u" } };
      const { text } = await webhook.call({ body: reviewOf([object], `${group}/v1beta1`) });
      expect(JSON.parse(text).response.result).toEqual({ status: "Success" });
    },
  );

  it.each([
    { asked: "another path", call: { path: "/mutate" }, code: 404 },
    { asked: "another method", call: { method: "GET" }, code: 405 },
    { asked: "something that is no JSON", call: { body: "{" }, code: 400 },
    { asked: "another kind of review", call: { body: { kind: "AdmissionReview" } }, code: 400 },
  ])("answers $asked with $code", async ({ call, code }) => {
    expect((await webhook.call(call)).code).toBe(code);
  });

  it("is not believed under another name", async () => {
    await expect(webhook.call({ host: "elsewhere.svc" })).rejects.toThrow("does not match certificate's altnames");
  });

  it("answers for a while when it is to end, for an API server may not have heard of it", async () => {
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const parts = { client: api.client, clock, log: silentLogger, clusterDomain };
    await using ending = await startWebhook({ ...managed, lingerMs: 5_000 }, parts);
    const ca = secretText(await certificateSecretOf(api.client), "ca.crt");
    const call = () => callWebhook({ port: ending.port, ca, body: reviewOf([], core.beta) });
    const ended = ending[Symbol.asyncDispose]();
    await clock.advance(4_999);
    expect((await call()).code).toBe(200);
    await clock.advance(1);
    await ended;
    await expect(call()).rejects.toThrow("ECONNREFUSED");
  });

  it("cannot start on a port that is taken", async () => {
    await using api = await openWebhookApi();
    const parts = { client: api.client, clock: systemClock, log: silentLogger, clusterDomain };
    await using first = await startWebhook(managed, parts);
    await expect(startWebhook({ ...managed, port: first.port }, parts)).rejects.toThrow(
      `cannot serve the conversion webhook on :${first.port}: listen EADDRINUSE`,
    );
  });
});

describe("a certificate that was made by others", () => {
  it("is changed under the running webhook, and the definitions are not touched", async () => {
    const directory = await mkdtemp(join(tmpdir(), "webhook-certs-"));
    const put = async () => {
      const { authorities, server } = await makeCertificates(webhookService, clusterDomain, systemClock.now());
      await writeFile(join(directory, "tls.crt"), server.certificate);
      await writeFile(join(directory, "tls.key"), server.key);
      return authorities[0] ?? "";
    };
    const firstAuthority = await put();
    await using api = await openWebhookApi();
    const clock = new FakeClock();
    const config = {
      ...managed,
      certificateFiles: { certificate: join(directory, "tls.crt"), key: join(directory, "tls.key") },
    };
    await using webhook = await startWebhook(config, { client: api.client, clock, log: silentLogger, clusterDomain });
    const call = (ca: string) => callWebhook({ port: webhook.port, ca, body: reviewOf([], core.beta) });
    expect((await call(firstAuthority)).code).toBe(200);
    const secondAuthority = await put();
    await clock.advance(checkEveryMs);
    await vi.waitFor(async () => expect((await call(secondAuthority)).code).toBe(200), waiting);
    await expect(call(firstAuthority)).rejects.toThrow();
    const { webhook: conversion } = await conversionOf(api.client, sandboxDefinitionName);
    expect(conversion?.clientConfig.caBundle).toBeUndefined();
    await rm(directory, { recursive: true });
  });
});

describe("the controller's webhook", () => {
  const pages = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];
  const start = (client: KubeClient, identity: string, flags: readonly string[]) =>
    startController(parseControllerConfig([...pages, ...flags]), {
      client,
      clock: systemClock,
      log: silentLogger,
      registry: new Registry(),
      identity,
    });

  it("answers in every replica, whichever leads", async () => {
    await using api = await openWebhookApi();
    const flags = ["--webhook-port=0", "--leader-election-namespace=agent-sandbox-system"];
    await using first = await start(api.client, "first", flags);
    await using second = await start(api.client, "second", flags);
    const ca = secretText(await certificateSecretOf(api.client), "ca.crt");
    const body = reviewOf([anAlphaSandbox()], core.beta);
    const replies = await Promise.all(
      [first, second].map(({ webhookPort = 0 }) => callWebhook({ port: webhookPort, ca, body })),
    );
    expect(replies.map(({ code }) => code)).toEqual([200, 200]);
    expect(new Set(replies.map(({ serialNumber }) => serialNumber)).size).toBe(1);
  });

  it("is not there when it is switched off, and no definition is touched", async () => {
    await using api = await openWebhookApi();
    await using controller = await start(api.client, "a", ["--enable-webhook=false", "--leader-elect=false"]);
    expect(controller.webhookPort).toBeUndefined();
    const { webhook } = await conversionOf(api.client, sandboxDefinitionName);
    expect(webhook?.clientConfig.caBundle).toBeUndefined();
    await expect(certificateSecretOf(api.client)).rejects.toThrow("not found");
  });
});
