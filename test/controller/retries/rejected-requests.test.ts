import { describe, expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { findCondition, isConditionTrue } from "../../../api/rules/conditions.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { type ClaimLab, openClaimLab } from "../../support/labs/claim-lab.ts";
import { waiting } from "../../support/waiting.ts";

const at = { namespace: "default", name: "nova" };
const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
const data = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

/** What a ValidatingAdmissionPolicy without a reason of its own answers. */
const denied = new ApiError(422, {
  ...{ apiVersion: "v1", kind: "Status", code: 422, reason: "Invalid" },
  message: "ValidatingAdmissionPolicy 'signed-images' with binding 'all' denied request: image is not signed",
});

const broken = new ApiError(500, {
  ...{ apiVersion: "v1", kind: "Status", code: 500, reason: "InternalError" },
  message: "failed calling webhook: connection refused",
});

interface Case {
  readonly what: string;
  readonly verb: "create" | "delete";
  readonly kind: string;
  readonly begin: (lab: ClaimLab) => Promise<unknown>;
}

const sandboxWith = (spec: Partial<SandboxSpec>) => (lab: ClaimLab) =>
  lab.client.create(sandboxType, { metadata: at, spec: { podTemplate, ...spec } });

const cases: readonly Case[] = [
  { what: "the Pod of a sandbox", verb: "create", kind: "Pod", begin: sandboxWith({}) },
  {
    what: "a volume claim of a sandbox",
    verb: "create",
    kind: "PersistentVolumeClaim",
    begin: sandboxWith({ volumeClaimTemplates: [data] }),
  },
  { what: "the Service of a sandbox", verb: "create", kind: "Service", begin: sandboxWith({ service: true }) },
  {
    what: "the sandbox of a claim",
    verb: "create",
    kind: "Sandbox",
    begin: async (lab) => {
      await lab.template();
      await lab.pool(0);
      await lab.claim("task");
    },
  },
  {
    what: "the deletion of a Pod",
    verb: "delete",
    kind: "Pod",
    begin: async (lab) => {
      await sandboxWith({})(lab);
      await vi.waitFor(async () => {
        const { status } = await lab.client.get(sandboxType, at);
        expect(isConditionTrue(status?.conditions, "Ready")).toBe(true);
      }, waiting);
      const body = { spec: { operatingMode: "Suspended" } };
      await lab.client.patch(sandboxType, at, { type: "merge", body });
    },
  },
];

/** A controller whose requests of one sort are denied until `permitted`. */
async function open({ verb, kind, begin }: Case, rejection: (attempt: number) => ApiError = () => denied) {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await openClaimLab());
  const clock = new FakeClock(systemClock.now());
  const policy = { permits: false, attempts: 0, done: 0 };
  await lab.startController({
    clock,
    intercept: async (call, proceed) => {
      if (call.verb !== verb || call.kind !== kind) return proceed();
      policy.attempts += 1;
      if (!policy.permits) throw rejection(policy.attempts);
      const answer = await proceed();
      policy.done += 1;
      return answer;
    },
  });
  await begin(lab);
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 20) {
      await clock.advance(20_000);
      await systemClock.sleep(2);
    }
  };
  const opened = stack.move();
  return { lab, policy, pass, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe("a request that an admission policy rejects as invalid", () => {
  it.each(cases)(
    "is made again, seldom, and soon after the policy permits it: $what",
    { timeout: 60_000 },
    async (one) => {
      await using world = await open(one);
      const { policy, pass } = world;
      await pass(1_800);
      // One each time that the objects change at first, and one after each of these pauses: 10 s, 20 s, 40 s ... 10 min.
      expect(policy.attempts).toBeGreaterThanOrEqual(8);
      expect(policy.attempts).toBeLessThanOrEqual(18);
      policy.permits = true;
      await pass(620);
      expect(policy.done).toBe(1);
    },
  );

  it.each(cases)("is made as seldom if its text differs each time: $what", { timeout: 60_000 }, async (one) => {
    const withId = (attempt: number) =>
      new ApiError(422, { ...denied.status, message: `request ${attempt} was denied` });
    await using world = await open(one, withId);
    await world.pass(1_800);
    // Each text that is written causes one pass: after 5 s, 10 s, 20 s ... 10 min.
    expect(world.policy.attempts).toBeGreaterThanOrEqual(8);
    expect(world.policy.attempts).toBeLessThanOrEqual(30);
  });

  it.each(cases)(
    "is made as seldom if another failure comes in turn with it: $what",
    { timeout: 60_000 },
    async (one) => {
      await using world = await open(one, (attempt) => (attempt % 2 === 1 ? denied : broken));
      await world.pass(1_800);
      // Each failure is retried after 5 ms, and each rejection after 10 s, 20 s ... 10 min.
      expect(world.policy.attempts).toBeGreaterThanOrEqual(8);
      expect(world.policy.attempts).toBeLessThanOrEqual(40);
    },
  );

  it("is no failed reconcile, and its text stays in the condition", async () => {
    const [ofPod] = cases;
    if (!ofPod) return expect.unreachable();
    await using world = await open(ofPod);
    await world.pass(300);
    const ready = findCondition((await world.lab.client.get(sandboxType, at)).status?.conditions, "Ready");
    expect(ready).toMatchObject({ status: "False", reason: "InvalidConfiguration", message: denied.message });
    world.policy.permits = true;
    await world.pass(620);
    expect(await world.lab.get(podType, at.name)).toBeDefined();
  });
});
