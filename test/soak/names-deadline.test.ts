import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endpointSliceType, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import { serviceType } from "../../api/kinds/core.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { type ServiceProxy, startServiceProxy } from "../../local/proxy/start-service-proxy.ts";
import { home, TestBed } from "../sleep/test-bed.ts";
import { visit } from "../sleep/visitor.ts";
import { eventually } from "../support/eventually.ts";

const timeoutMs = 1_000;
const offsetsMs = Array.from({ length: 41 }, (_, at) => -50 + at * 5);
/** Concurrent connections. With more, they would be late on a busy machine. */
const atATime = 6;
/** The default: at the start, many EndpointSlices keep the processors busy for a while. */
const leaseSeconds = 15;
let bed: TestBed;
let proxy: ServiceProxy;

beforeAll(async () => {
  bed = await TestBed.open({ activators: 2, controllers: 1, leaseSeconds });
  proxy = startServiceProxy({ client: bed.client, clock: systemClock, log: silentLogger });
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

/** The address of a sandbox's Service, once both activators are listed. */
async function addressOf(name: string, uid: string): Promise<string> {
  const slice = { namespace: home, name: tcpFrontSliceName(uid) };
  await eventually(async () => {
    const found = await bed.client.get(endpointSliceType, slice).catch(() => undefined);
    return found?.endpoints?.length === 2;
  }, 60_000);
  const { spec } = await bed.client.get(serviceType, { namespace: home, name });
  return spec?.clusterIP ?? "";
}

/** One connection by Service `offsetMs` after the idle deadline. Returns the failures, and whether the same Pod answered. */
async function tryOne(offsetMs: number) {
  const name = `deadline-${offsetMs + 50}`;
  const autoSuspension = { inactivityTimeoutSeconds: timeoutMs / 1_000 };
  const { metadata } = await bed.create(name, { service: true, autoSuspension });
  const host = await addressOf(name, metadata.uid);
  const target = { host, port: 8888 };
  const before = await visit(target, { id: `${name}-before`, sandbox: name });
  const lastUsedMs = performance.now();
  const [former] = bed.node.ledger.of(`${name}-before`);
  await delay(lastUsedMs + timeoutMs + offsetMs - performance.now());
  const outcome = await visit(target, { id: name, sandbox: name, body: "x".repeat(10_000) });
  const executions = bed.node.ledger.of(name);
  const wrong: string[] = [];
  if (before.status !== 200) wrong.push(`${name}: the visit before was answered ${before.status} ${before.body}`);
  if (outcome.status !== 200) wrong.push(`${name}: ${outcome.status} ${outcome.body}`);
  if (executions.length !== 1) wrong.push(`${name} was executed ${executions.length} times`);
  return { wrong, samePod: executions[0]?.podUid === former?.podUid };
}

it("a raw connection at any moment around the idle deadline is answered, once", async ({ annotate }) => {
  const tried: Awaited<ReturnType<typeof tryOne>>[] = [];
  for (let begun = 0; begun < offsetsMs.length; begun += atATime) {
    tried.push(...(await Promise.all(offsetsMs.slice(begun, begun + atATime).map(tryOne))));
  }
  const same = tried.filter(({ samePod }) => samePod).length;
  await annotate(`${same} answered by the same Pod, ${tried.length - same} by the next one`);
  expect(tried.flatMap(({ wrong }) => wrong)).toEqual([]);
});
