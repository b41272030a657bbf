import { afterAll, beforeAll, expect, it } from "vitest";
import { type SandboxClaim, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import { injectFault } from "./inject-fault.ts";
import { sealWritten } from "./phases.ts";
import { account, answeredOnce } from "./promises.ts";
import { home, TestBed } from "./test-bed.ts";

const autoSuspension = { inactivityTimeoutSeconds: 1 };

let bed: TestBed;
beforeAll(async () => {
  bed = await TestBed.open({
    controllers: 2,
    activators: 2,
    controllerFlags: ["--activator-vanish-grace=500ms"],
    podTimes: (name) => ({ scheduleMs: 5, startMs: name.startsWith("slow") ? 1_000 : 5, endMs: 5 }),
  });
}, 60_000);
afterAll(() => bed[Symbol.asyncDispose](), 30_000);

const limit = { timeout: 60_000 };
const metadata = (name: string) => ({ namespace: home, name });

it("a claim stays Ready while its sandbox is suspended, and a connection to the claim wakes it", limit, async () => {
  const { client } = bed;
  const podTemplate = { spec: { containers: [{ name: "main", image: "workload" }], nodeName: "bed" } };
  await client.create(sandboxTemplateType, { metadata: metadata("tpl"), spec: { podTemplate, autoSuspension } });
  const pool = { replicas: 1, sandboxTemplateRef: { name: "tpl" } };
  await client.create(sandboxWarmPoolType, { metadata: metadata("slow-pool"), spec: pool });
  const spec = { warmPoolRef: { name: "slow-pool" } };
  await client.create(sandboxClaimType, { metadata: metadata("mine"), spec });
  // A watch reports every status; a read may come after one is over.
  await using claims = startInformer<SandboxClaim>({
    ...{ client, type: sandboxClaimType, indexes: {}, clock: systemClock, log: silentLogger, frozen: true },
  });
  const seen: { readonly sandbox: string; readonly ready: string | undefined; readonly reason: string | undefined }[] =
    [];
  claims.onChange(({ current }) => {
    const ready = current?.status?.conditions?.find(({ type }) => type === "Ready");
    seen.push({ sandbox: current?.status?.sandbox?.name ?? "", ready: ready?.status, reason: ready?.reason });
  });
  const until = (reason: string) => eventually(() => seen.some((status) => status.reason === reason));
  await eventually(() => seen.at(-1)?.ready === "True");
  const sandbox = seen.at(-1)?.sandbox ?? "";
  await bed.untilAsleep(sandbox);
  await until("SandboxSuspended");
  seen.splice(0, seen.length - 1);
  const [first] = bed.activators;
  const answered = first && answeredOnce(first, bed.node.ledger, { sandbox: "mine", body: "wake" });
  await until("SandboxResuming");
  await answered;
  expect((await bed.sandbox(sandbox)).spec.operatingMode).toBe("Running");
  await until("DependenciesReady");
  for (const now of seen) expect(now).toMatchObject({ sandbox, ready: "True" });
});

it(
  "a controller killed after it wrote the seal loses nothing: the next one completes the suspension",
  limit,
  async () => {
    const name = "sealed";
    const injected = injectFault(bed, sealWritten, name, async (leader) => leader.program.kill());
    await bed.create(name, { autoSuspension });
    await injected;
    await Promise.all(bed.activators.map((by) => answeredOnce(by, bed.node.ledger, { sandbox: name, body: "now" })));
    await bed.untilAsleep(name);
    expect((await bed.sandbox(name)).metadata.annotations).not.toHaveProperty(sealedPodAnnotation);
  },
);

it("killing an activator that holds requests does not affect requests that others hold", limit, async () => {
  const sandbox = "slow";
  const { ledger } = bed.node;
  const [first, second] = bed.activators;
  if (!first || !second) throw new Error("two activators were asked for");
  await bed.create(sandbox, { autoSuspension, operatingMode: "Suspended" });
  await bed.untilAsleep(sandbox);
  const doomed = [1, 2, 3].map(() => account(first, ledger, { sandbox, body: "a" }));
  const spared = [1, 2, 3].map(() => answeredOnce(second, ledger, { sandbox, body: "b" }));
  await eventually(async () => (await bed.sandbox(sandbox)).spec.operatingMode === "Running");
  await first.kill();
  await Promise.all(spared);
  for (const { executions } of await Promise.all(doomed)) expect(executions.length).toBeLessThanOrEqual(1);
  await bed.untilAsleep(sandbox);
});
