import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endpointSliceType, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import { serviceType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { type ServiceProxy, startServiceProxy } from "../../local/proxy/start-service-proxy.ts";
import type { ActivatorReplica } from "../sleep/activator-replica.ts";
import { home, TestBed } from "../sleep/test-bed.ts";
import { visit } from "../sleep/visitor.ts";
import { eventually } from "../support/eventually.ts";

const count = 100;
const visitEveryMs = 10;
/** The default: at the start, many EndpointSlices keep the processors busy for a while. */
const leaseSeconds = 15;
let bed: TestBed;
let proxy: ServiceProxy;
let sandboxes: readonly Stored<Sandbox>[];

beforeAll(async () => {
  bed = await TestBed.open({ activators: 2, controllers: 1, leaseSeconds });
  proxy = startServiceProxy({ client: bed.client, clock: systemClock, log: silentLogger });
  const names = Array.from({ length: count }, (_, index) => `named-${index}`);
  sandboxes = await Promise.all(names.map((name) => bed.create(name, { service: true, autoResume: {} })));
  await untilAllLeadTo(0, 1);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

function replica(index: number): ActivatorReplica {
  const found = bed.activators[index];
  if (!found) throw new Error(`there is no activator ${index}`);
  return found;
}

/** Waits until every Service leads to exactly these replicas. */
async function untilAllLeadTo(...indexes: readonly number[]): Promise<void> {
  const wanted = indexes.map((index) => replica(index).host).sort();
  await eventually(async () => {
    const { items } = await bed.client.list(endpointSliceType, { namespace: home });
    const slices = new Map(items.map((slice) => [slice.metadata.name, slice]));
    return sandboxes.every(({ metadata }) => {
      const endpoints = slices.get(tcpFrontSliceName(metadata.uid))?.endpoints ?? [];
      return (
        endpoints
          .flatMap(({ addresses }) => addresses)
          .sort()
          .join() === wanted.join()
      );
    });
  }, 60_000);
}

/** Visits one sandbox by its Service repeatedly. Returns when visits failed, in milliseconds since the start. */
async function visitByName(name: string, until: AbortSignal) {
  const { spec } = await bed.client.get(serviceType, { namespace: home, name });
  const host = spec?.clusterIP ?? "";
  const beganMs = performance.now();
  const failedMs: number[] = [];
  let visits = 0;
  const under: Promise<void>[] = [];
  while (!until.aborted) {
    const startedMs = performance.now() - beganMs;
    visits += 1;
    const seen = visit({ host, port: 8888 }, { id: `${name}-${visits}`, sandbox: name });
    under.push(seen.then(({ status }) => void (status === 200 || failedMs.push(startedMs))));
    await delay(visitEveryMs);
  }
  await Promise.all(under);
  return { visits, failedMs, beganMs };
}

/** The failed visits to one Service while something happens. */
async function seenWhile(happening: () => Promise<void>) {
  const over = new AbortController();
  const visiting = visitByName("named-0", over.signal);
  await delay(500); // clients are connected before it
  const fromMs = performance.now();
  await happening();
  const tookMs = performance.now() - fromMs;
  await delay(500); // and after it
  over.abort();
  const { visits, failedMs, beganMs } = await visiting;
  const windowMs = Math.max(0, ...failedMs.map((ms) => ms + beganMs - fromMs));
  return { visits, failures: failedMs.length, windowMs, tookMs };
}

it("a killed activator is removed from all EndpointSlices as soon as its end is reported", async ({ annotate }) => {
  const seen = await seenWhile(async () => {
    await replica(0).kill();
    await untilAllLeadTo(1);
  });
  await annotate(
    `killed: ${seen.failures} of ${seen.visits} visits failed, the last after ${seen.windowMs.toFixed(0)} ms; ` +
      `${count} names followed in ${seen.tookMs.toFixed(0)} ms`,
  );
  expect(seen.windowMs).toBeLessThan(5_000);
  await replica(0).start();
  await untilAllLeadTo(0, 1);
});

it("Services keep working while there is no controller", async ({ annotate }) => {
  const seen = await seenWhile(async () => {
    await bed.controllers[0]?.program.kill();
    await bed.leader();
  });
  await annotate(`no controller for ${seen.tookMs.toFixed(0)} ms: ${seen.failures} of ${seen.visits} visits failed`);
  expect(seen.failures).toBe(0);
});

it("an activator killed without a controller is removed from all EndpointSlices once one leads", async ({
  annotate,
}) => {
  const seen = await seenWhile(async () => {
    await bed.controllers[0]?.program.kill();
    await replica(1).kill();
    await untilAllLeadTo(0);
  });
  await annotate(
    `killed without a controller: the last of ${seen.failures} visits that failed was after ${seen.windowMs.toFixed(0)} ms`,
  );
  expect(seen.windowMs).toBeLessThan(6 * leaseSeconds * 1_000);
  await replica(1).start();
  await untilAllLeadTo(0, 1);
});
