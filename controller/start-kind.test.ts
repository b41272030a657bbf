import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import { configMapType, namespaceType } from "../api/kinds/core.ts";
import type { KubeObject, Stored } from "../api/kinds/meta.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Change } from "../kube/informer/informer.ts";
import { Subscribers } from "../lib/data/subscribers.ts";
import { silentLogger } from "../lib/log/log.ts";
import { FakeClock } from "../lib/time/clock.ts";
import { openMemoryApi } from "../test/support/memory-api.ts";
import { waiting } from "../test/support/waiting.ts";
import { createRuntimeMetrics } from "./metrics/runtime-metrics.ts";
import { startKind } from "./start-kind.ts";

const metadata = (name: string) => ({ namespace: "leaving", name });

/** The error of a server for a create in a namespace that is being deleted. */
async function refusalOf(client: KubeClient): Promise<unknown> {
  await client.create(namespaceType, { metadata: { name: "leaving" } });
  await client.create(configMapType, { metadata: { ...metadata("last"), finalizers: ["rouse.dev/wait"] } });
  await client.delete(namespaceType, { name: "leaving" });
  return client.create(configMapType, { metadata: metadata("late") }).catch((error: unknown) => error);
}

/** The number of reconciles of an object in the first ten seconds, if each fails with this error. */
async function attemptsWith(failure: (refusal: unknown) => unknown): Promise<number> {
  await using api = await openMemoryApi();
  const refusal = await refusalOf(api.client);
  const clock = new FakeClock();
  let attempts = 0;
  await using kind = startKind({
    name: "kind",
    workers: 1,
    sources: [
      (enqueue) => {
        enqueue("leaving/it");
        return { [Symbol.dispose]() {} };
      },
    ],
    async reconcile() {
      attempts += 1;
      throw failure(refusal);
    },
    clock,
    log: silentLogger,
    metrics: createRuntimeMetrics(new Registry(), clock),
  });
  await vi.waitFor(() => expect(attempts).toBe(1), waiting);
  for (let step = 0; step < 100; step += 1) await clock.advance(100);
  expect(await Promise.race([kind.failed, "none"])).toBe("none");
  return attempts;
}

it("does not retry an object whose children cannot be created because its namespace is being deleted", async () => {
  expect(await attemptsWith((refusal) => refusal)).toBe(1);
  expect(await attemptsWith((refusal) => new Error("no Pod", { cause: refusal }))).toBe(1);
  expect(await attemptsWith((refusal) => new AggregateError([refusal, refusal]))).toBe(1);
});

it("tries again where anything else went wrong besides", async () => {
  expect(await attemptsWith((refusal) => new AggregateError([refusal, new Error("no answer")]))).toBeGreaterThan(3);
  expect(await attemptsWith(() => new AggregateError([]))).toBeGreaterThan(3);
});

it("reconciles other namespaces while the only pass that one may have hangs", async () => {
  const clock = new FakeClock();
  const begun: string[] = [];
  const hanging = Promise.withResolvers<void>();
  await using _kind = startKind({
    name: "kind",
    workers: 1,
    sources: [
      (enqueue) => {
        for (const key of ["slow/a", "slow/b", "good/a", "good/b"]) enqueue(key);
        return { [Symbol.dispose]() {} };
      },
    ],
    async reconcile(key) {
      begun.push(key);
      if (key.startsWith("slow/")) await hanging.promise;
      return {};
    },
    clock,
    log: silentLogger,
    metrics: createRuntimeMetrics(new Registry(), clock),
  });
  await vi.waitFor(() => expect(begun).toEqual(["slow/a", "good/a", "good/b"]), waiting);
  hanging.resolve();
  await vi.waitFor(() => expect(begun).toEqual(["slow/a", "good/a", "good/b", "slow/b"]), waiting);
});

describe("a change of an object whose last pass failed", () => {
  const creationTimestamp = "2026-01-01T00:00:00Z";
  const bare = (resourceVersion: string, more: Partial<Stored<KubeObject>["metadata"]> = {}): Stored<KubeObject> => ({
    ...{ apiVersion: "v1", kind: "Thing" },
    metadata: { namespace: "a", name: "nova", uid: "1", creationTimestamp, ...more, resourceVersion },
  });
  const nova = (version: string, more: Partial<Stored<KubeObject>["metadata"]> = {}) =>
    bare(version, { generation: 1, ...more });

  /** The number of passes once the object has changed to this, before the backoff of the failed first one. */
  async function passesAfter(current: Stored<KubeObject> | undefined, previous = nova("1")): Promise<number> {
    const clock = new FakeClock();
    const changes = new Subscribers<Change<KubeObject>>();
    const store = {
      get: () => previous,
      list: () => [previous],
      by: () => [],
      keysBy: () => new Set<string>(),
      size: 1,
    };
    let passes = 0;
    await using _kind = startKind({
      ...{ name: "kind", workers: 1, sources: [], clock, log: silentLogger },
      objects: { store, onChange: (listener) => changes.add(listener) },
      async reconcile() {
        passes += 1;
        throw new Error("not yet");
      },
      metrics: createRuntimeMetrics(new Registry(), clock),
    });
    await clock.advance(0);
    expect(passes).toBe(1);
    changes.notify({ key: "a/nova", previous, current });
    await clock.advance(0);
    return passes;
  }

  it("waits for the backoff if it is one of the status alone, as our own write is", async () => {
    expect(await passesAfter(nova("2"))).toBe(1);
  });

  it.each([
    ["its spec", nova("2", { generation: 2 })],
    ["an annotation", nova("2", { annotations: { note: "new" } })],
    ["its end", nova("2", { deletionTimestamp: "2026-01-01T00:00:00Z" })],
    ["its UID, because it was created again", nova("2", { uid: "2" })],
    ["all of it, because it is gone", undefined],
  ])("is reconciled at once if it concerns %s", async (_, current) => {
    expect(await passesAfter(current)).toBe(2);
  });

  it("is reconciled at once if it has no generation, so that the change may be any", async () => {
    expect(await passesAfter(bare("2"), bare("1"))).toBe(2);
  });
});
