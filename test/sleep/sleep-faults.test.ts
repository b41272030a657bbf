import { afterAll, beforeAll, expect, it } from "vitest";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
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
  const claimed = async () => {
    const { status } = await client.get(sandboxClaimType, metadata("mine"));
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    return { sandbox: status?.sandbox?.name ?? "", ready: ready?.status, reason: ready?.reason };
  };
  await eventually(async () => (await claimed()).ready === "True");
  const { sandbox } = await claimed();
  await bed.untilAsleep(sandbox);
  // Keeps every status that was read: a later read may skip one.
  const seen = [await claimed()];
  const until = (reason: string) =>
    eventually(async () => {
      const now = await claimed();
      seen.push(now);
      return now.reason === reason;
    });
  await until("SandboxSuspended");
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
