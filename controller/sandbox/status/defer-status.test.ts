import { expect, it } from "vitest";
import type { Condition } from "../../../api/kinds/meta.ts";
import type { SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { aSandbox, controlledBy } from "../../../test/support/builders/builders.ts";
import { aPool } from "../../../test/support/builders/extension-builders.ts";
import { deferStatusMs, mayDeferStatus } from "./defer-status.ts";

const condition = (type: string, status: Condition["status"], reason: string): Condition => ({
  type,
  status,
  reason,
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const awake = condition("Suspended", "False", "NotSuspended");
const saying = (...conditions: readonly Condition[]): SandboxStatus => ({ conditions });
const notYet = saying(awake, condition("Ready", "False", "DependenciesNotReady"));
const ready = saying(awake, condition("Ready", "True", "DependenciesReady"));
const asleep = saying(condition("Suspended", "True", "PodTerminated"), condition("Ready", "False", "SandboxSuspended"));

it("a first status with only a pending Pod may be deferred, and so may the next one like it", () => {
  expect(mayDeferStatus(undefined, notYet)).toBe(true);
  expect(mayDeferStatus({}, notYet)).toBe(true);
  const bound = { ...notYet, nodeName: "node-1" };
  expect(mayDeferStatus(notYet, bound)).toBe(true);
});

it("the status of a pool member, which no client waits for before it is ready, may be deferred longer", () => {
  const spare = aSandbox({}, { ownerReferences: [controlledBy(aPool())] });
  expect([deferStatusMs(aSandbox()), deferStatusMs(spare)]).toEqual([500, 2_000]);
});

it.each<[string, SandboxStatus | undefined, SandboxStatus]>([
  ["Ready", notYet, ready],
  ["an address", notYet, { ...notYet, podIPs: ["10.1.0.5"] }],
  ["Ready that was lost", ready, notYet],
  ["a resume that has begun", asleep, notYet],
  ["a suspension", notYet, asleep],
  ["an error", undefined, saying(awake, condition("Ready", "False", "ReconcilerError"))],
  ["an error that has passed", saying(awake, condition("Ready", "False", "ReconcilerError")), notYet],
  ["memory that is kept, for whose status a Pod waits", notYet, { ...notYet, hibernation: { state: "Hibernated" } }],
  ["the end of a Pod", notYet, saying(...(notYet.conditions ?? []), condition("Finished", "True", "PodFailed"))],
])("%s is reported at once", (_, before, after) => {
  expect(mayDeferStatus(before, after)).toBe(false);
});
