import { describe, expect, it } from "vitest";
import { v1alpha1StateAnnotations } from "../../api/rules/keys.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { childrenOf, peakResidentBytes } from "../../test/programs/process-cost.ts";
import { aBetaSandbox, anAlphaSandbox, core } from "../../test/support/builders/versions.ts";
import {
  callWebhook,
  certificateSecretOf,
  openWebhookApi,
  reviewOf,
  secretText,
  webhookService,
} from "../../test/support/labs/webhook-world.ts";
import { startWebhook } from "./start-webhook.ts";

const mebibyte = 1024 * 1024;
/** The largest object that an API server stores: etcd takes no larger request. */
const largestObjectBytes = 1.5 * mebibyte;
/** Just below what the webhook reads of one body. */
const largestBodyBytes = 3 * mebibyte - 2_048;
/** What docs/operating.md counts for a process, and 60 MiB of pages that it shares with the controller. */
const processBytesMax = 256 * mebibyte;

/** Texts of lists and objects that take the most memory for their bytes. */
const shapes: Readonly<Record<string, (at: number) => string>> = {
  "empty objects": () => "{}",
  "objects with keys of their own": (at) => `{"${at.toString(36)}":{}}`,
  "long integers": () => "9007199254740993",
  "wide texts": () => '"食"',
};

/** A list of one shape with so many bytes. */
function listOf(shape: (at: number) => string, bytesMax: number): string {
  const items: string[] = [];
  for (let bytes = 2; bytes < bytesMax - 40; bytes += Buffer.byteLength(items.at(-1) ?? "") + 1) {
    items.push(shape(items.length));
  }
  return `[${items.join()}]`;
}

/** A review of one Sandbox with this JSON text in its spec. */
const reviewWith = (text: string) =>
  JSON.stringify(reviewOf([{ ...anAlphaSandbox(), spec: { x: "?" } }], core.beta)).replace('"?"', () => text);

async function openWorld() {
  // Other test files may have left processes.
  const before = new Set(childrenOf(process.pid));
  const api = await openWebhookApi();
  const webhook = await startWebhook(
    { port: 0, service: webhookService, certificateFiles: undefined },
    { client: api.client, clock: systemClock, log: silentLogger, clusterDomain: "cluster.local" },
  );
  const ca = secretText(await certificateSecretOf(api.client), "ca.crt");
  return {
    convert: (body: unknown) => callWebhook({ port: webhook.port, ca, body }),
    peaks: () =>
      childrenOf(process.pid)
        .filter((pid) => !before.has(pid))
        .map(peakResidentBytes),
    async [Symbol.asyncDispose]() {
      await webhook[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

describe("the memory for a review", () => {
  it("has a bound, whatever a body of the largest size has", async () => {
    await using world = await openWorld();
    for (const shape of Object.values(shapes)) {
      const { code } = await world.convert(reviewWith(listOf(shape, largestBodyBytes)));
      // Refused or converted: a process that had taken too much would have ended, and its peak would be unknown.
      expect([200, 413]).toContain(code);
    }
    const peaks = world.peaks();
    expect(peaks).toHaveLength(2);
    expect(Math.max(...peaks)).toBeLessThan(processBytesMax);
  }, 60_000);

  it("has a bound for a text in an annotation that would be parsed", async () => {
    await using world = await openWorld();
    const state = `{"spec":${listOf(() => "{}", largestBodyBytes)}}`;
    const metadata = { name: "one", annotations: { [v1alpha1StateAnnotations.Sandbox]: state } };
    const { code } = await world.convert(reviewOf([{ ...aBetaSandbox(), metadata }], core.alpha));
    expect(code).toBe(200);
    expect(Math.max(...world.peaks())).toBeLessThan(processBytesMax / 2);
  }, 60_000);

  it("is not spent on a larger body", async () => {
    await using world = await openWorld();
    const { code } = await world.convert(reviewWith(listOf(() => '"食"', largestBodyBytes + 4_096)));
    expect(code).toBe(413);
    expect(world.peaks()).toHaveLength(1);
  });

  it("is not spent on more values than the largest object has", async () => {
    await using world = await openWorld();
    const { code, text } = await world.convert(reviewWith(listOf(() => "{}", 2 * mebibyte)));
    expect(code).toBe(413);
    expect(text).toBe("the review has more than 1100000 opening brackets and commas\n");
    expect(Math.max(...world.peaks())).toBeLessThan(processBytesMax / 2);
  });

  it("suffices for the largest object that is stored, whatever it has", async () => {
    await using world = await openWorld();
    for (const shape of Object.values(shapes)) {
      const text = listOf(shape, largestObjectBytes);
      const { code, text: answer } = await world.convert(reviewWith(text));
      expect(code).toBe(200);
      expect(answer).toContain('"status":"Success"');
      expect(answer.includes(text)).toBe(true);
    }
  }, 60_000);
});
