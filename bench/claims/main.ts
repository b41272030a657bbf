// `npm run bench:claims`: what a claim costs the controller, without a cluster: reconciles, API calls, CPU time, latency.
import { parseArgs } from "node:util";
import { controllerOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import { startMemoryApiServer } from "../../apiserver/start-memory-api-server.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { cpuSeconds } from "../../test/programs/process-cost.ts";
import { callsTable } from "../cluster/api-calls.ts";
import { claimNamed, is, poolNamed, sandboxNamed, templateNamed } from "../cluster/objects.ts";
import { recordStates } from "../state-times.ts";
import { spreadOf, spreadTable } from "../statistics.ts";
import { until } from "../until.ts";
import { startControllerProcess } from "./controller-process.ts";
import { countRequests } from "./count-requests.ts";
import { startNodes } from "./nodes.ts";

const { values } = parseArgs({
  options: {
    pool: { type: "string", default: "120" },
    claims: { type: "string", default: "200" },
    "per-second": { type: "string", default: "20" },
    /** The file for a CPU profile of the steady part. Absent: no profile. */
    profile: { type: "string" },
  },
});
const poolSize = Number(values.pool);
const claims = Number(values.claims);
const perSecond = Number(values["per-second"]);
const namespace = "default";
const say = (line: string) => void process.stdout.write(`${line}\n`);
const sinceMs = (startMs: number) => systemClock.ticksMs() - startMs;

await using api = await startMemoryApiServer({
  clock: systemClock,
  log: silentLogger,
  host: "127.0.0.1",
  port: 0,
  kinds: servedKinds(),
});
await using client = createKubeClient(connectionFor({ server: api.url }), { userAgent: "rouse-bench" });
await using _nodes = startNodes(client);
await using controller = await startControllerProcess(api.url);
await client.create(sandboxTemplateType, templateNamed(namespace, "t"));

await measured("a member, while the pool is filled", poolSize, async () => {
  await using sandboxes = await recordStates(client, sandboxType, namespace, { ready: is("Ready") });
  await client.create(sandboxWarmPoolType, poolNamed(namespace, "warm", "t", poolSize));
  await sandboxes.untilReached("ready", poolSize);
  return [];
});
await measured(`a claim, ${poolSize} at once`, poolSize, () => claim("burst", poolSize, Number.POSITIVE_INFINITY));
const profile = values.profile === undefined ? undefined : controller.profile(claims / perSecond, values.profile);
await measured(`a claim, ${perSecond} a second`, claims, () => claim("steady", claims, perSecond));
await profile;
await measured("a single sandbox", 50, () => sandboxesOneByOne(50));

/** Milliseconds from create to Ready of each claim. */
async function claim(prefix: string, count: number, rate: number): Promise<readonly number[]> {
  await using bound = await recordStates(client, sandboxClaimType, namespace, { ready: is("Ready") });
  const asked = new Map<string, number>();
  const startMs = systemClock.ticksMs();
  const under: Promise<unknown>[] = [];
  for (let at = 0; at < count; at += 1) {
    const dueMs = (at * 1_000) / rate;
    if (dueMs > sinceMs(startMs)) await systemClock.sleep(dueMs - sinceMs(startMs));
    const name = `${prefix}-${at}`;
    asked.set(name, systemClock.ticksMs());
    under.push(client.create(sandboxClaimType, claimNamed(namespace, name, "warm")));
  }
  await Promise.all(under);
  await bound.untilReached("ready", count);
  return [...asked].map(([name, askedMs]) => (bound.at("ready", name) ?? Number.NaN) - askedMs);
}

async function sandboxesOneByOne(count: number): Promise<readonly number[]> {
  await using sandboxes = await recordStates(client, sandboxType, namespace, { ready: is("Ready") });
  const latencies: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const startMs = systemClock.ticksMs();
    await client.create(sandboxType, sandboxNamed(namespace, `single-${at}`));
    await sandboxes.untilReached("ready", at + 1);
    latencies.push(sinceMs(startMs));
  }
  return latencies;
}

/** Does the work, waits until the pool is full again, and prints what each item cost the controller. */
async function measured(what: string, count: number, work: () => Promise<readonly number[]>): Promise<void> {
  const requests = countRequests();
  const before = { cpuS: cpuSeconds(controller.pid), rounds: await controller.rounds() };
  const startMs = systemClock.ticksMs();
  const latencies = await work();
  const workMs = sinceMs(startMs);
  await untilFull(client);
  const fullMs = sinceMs(startMs);
  await systemClock.sleep(2_000); // events are written after the changes that they report
  const cpuMs = ((cpuSeconds(controller.pid) - before.cpuS) * 1_000) / count;
  const rounds = [...(await controller.rounds())].map(
    ([kind, n]) => `${((n - (before.rounds.get(kind) ?? 0)) / count).toFixed(2)} of ${kind}`,
  );
  say(`## ${what}\n`);
  say(`done after ${workMs.toFixed(0)} ms, the pool full after ${fullMs.toFixed(0)} ms; for each`);
  say(`${cpuMs.toFixed(1)} ms of CPU time; rounds: ${rounds.join(", ")}\n`);
  if (latencies.length > 0) say(spreadTable([["create to Ready", spreadOf(latencies)]]));
  say(callsTable(requests(), count, "each"));
}

/** Counts the members, because the status of the pool may be stale. */
async function untilFull(client: KubeClient): Promise<void> {
  const isMember = (sandbox: Stored<Sandbox>) => controllerOf(sandbox)?.kind === sandboxWarmPoolType.kind;
  await until(async () => {
    const { items } = await client.list(sandboxType, { namespace });
    return items.filter(isMember).filter(is("Ready")).length === poolSize;
  });
}
