import { describe, expect, it } from "vitest";
import { persistentVolumeClaimType, serviceType } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import { networkPolicyType } from "../../../api/kinds/network-policy.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import { type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { type ClaimLab, openClaimLab } from "../../support/labs/claim-lab.ts";

const namespace = "default";
const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
const data = { metadata: { name: "data" }, spec: {} };

const exceeded = new ApiError(403, {
  ...{ apiVersion: "v1", kind: "Status", code: 403, reason: "Forbidden" },
  message: "exceeded quota: q",
});

interface Case {
  readonly what: string;
  readonly type: ResourceType<KubeObject>;
  readonly name: string;
  readonly begin: (lab: ClaimLab) => Promise<unknown>;
}

const sandboxWith = (spec: Partial<SandboxSpec>) => (lab: ClaimLab) =>
  lab.client.create(sandboxType, { metadata: { namespace, name: "nova" }, spec: { podTemplate, ...spec } });

const cases: readonly Case[] = [
  {
    what: "the volume claim of a sandbox",
    type: persistentVolumeClaimType,
    name: "data-nova",
    begin: sandboxWith({ volumeClaimTemplates: [data] }),
  },
  // Its Pod exists.
  { what: "the Service of a sandbox", type: serviceType, name: "nova", begin: sandboxWith({ service: true }) },
  {
    what: "the sandbox of a claim",
    type: sandboxType,
    name: "task",
    begin: async (lab) => {
      await lab.template();
      await lab.pool(0);
      await lab.claim("task");
    },
  },
  {
    what: "the network policy of a template",
    type: networkPolicyType,
    name: "template-network-policy",
    begin: (lab) => lab.template(),
  },
  {
    what: "the member of a pool",
    type: sandboxType,
    name: "pool-",
    begin: async (lab) => {
      await lab.template();
      await lab.pool(1);
    },
  },
];

describe("what the API server refused for a quarter of an hour", () => {
  it.each(cases)("is created within half a minute once it is accepted: $what", { timeout: 60_000 }, async (one) => {
    await using lab = await openClaimLab();
    const clock = new FakeClock(systemClock.now());
    const quota = { isFull: true, attempts: 0, created: 0 };
    await using _controller = await lab.startController({
      clock,
      intercept: async (call, proceed) => {
        if (call.verb !== "create" || call.kind !== one.type.kind || !call.name.startsWith(one.name)) return proceed();
        quota.attempts += 1;
        if (quota.isFull) throw exceeded;
        quota.created += 1;
        return proceed();
      },
    });
    await one.begin(lab);
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        await clock.advance(1_000);
        await systemClock.sleep(2);
      }
    };
    await pass(900);
    // A dozen attempts until the delay is half a minute, and one every 15 to 30 seconds after that.
    expect(quota.attempts).toBeGreaterThan(30);
    expect(quota.attempts).toBeLessThan(90);
    quota.isFull = false;
    await pass(32);
    expect(quota.created).toBeGreaterThan(0);
  });
});
