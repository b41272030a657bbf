import { describe, expect, it } from "vitest";
import type { Condition } from "../../api/meta.ts";
import { aPodOf, aSandbox, noon } from "../../test/support/builders.ts";
import { happeningsOf, type Passage } from "./transitions.ts";

const condition = (type: string, status: Condition["status"], reason: string, message = ""): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: noon,
});
const unready = condition("Ready", "False", "DependenciesNotReady");
const ready = condition("Ready", "True", "DependenciesReady");
const awake = condition("Suspended", "False", "NotSuspended");
const asleep = condition("Suspended", "True", "PodTerminated");
const expired = condition("Ready", "False", "SandboxExpired");
const ended = (reason: string) => condition("Finished", "True", reason, "Pod failed");
const invalid = condition("Ready", "False", "InvalidConfiguration", "refused");
const multiple = condition("Ready", "False", "MultiplePods", "multiple Pods (2)");
const refusedPod: Passage["failures"] = [
  { action: { do: "createPod", pod: aPodOf(aSandbox()) }, message: "refused", untilChanged: true },
];

const told = (parts: Partial<Passage>) =>
  happeningsOf({ sandbox: aSandbox(), before: [], after: [], podCreated: false, failures: [], ...parts }).map(
    ({ type, reason, action }) => `${type} ${reason} ${action}`,
  );

describe("X2: an event tells of a Sandbox", () => {
  it.each([
    ["whose Pod was made", { podCreated: true }, "Normal SandboxPodCreated PodCreation"],
    [
      "whose Pod could not be made",
      { after: [invalid], failures: refusedPod },
      "Warning SandboxPodCreateFailed PodCreation",
    ],
    ["that became ready", { before: [unready], after: [ready] }, "Normal SandboxReady Reconciling"],
    ["that was suspended", { before: [awake], after: [asleep] }, "Normal SandboxSuspended Reconciling"],
    ["that expired", { before: [ready], after: [expired] }, "Normal SandboxExpired Expiry"],
    ["whose Pod succeeded", { after: [ended("PodSucceeded")] }, "Normal PodSucceeded Reconciling"],
    ["whose Pod failed", { after: [ended("PodFailed")] }, "Warning PodFailed Reconciling"],
    ["with several Pods", { before: [unready], after: [multiple] }, "Warning MultiplePods Reconciling"],
  ] satisfies [string, Partial<Passage>, string][])("%s", (_, parts, event) => {
    expect(told(parts)).toEqual([event]);
  });
});

describe("no event tells of a Sandbox", () => {
  it.each([
    ["that stays as it is", { before: [ready, awake], after: [ready, awake] }],
    ["that was made suspended", { before: [], after: [asleep] }],
    ["that still has several Pods", { before: [multiple], after: [multiple] }],
    ["whose Pod still cannot be made", { before: [invalid], after: [invalid], failures: refusedPod }],
    [
      "whose Pod ends as it is suspended",
      { sandbox: aSandbox({ operatingMode: "Suspended" }), after: [ended("PodSucceeded")] },
    ],
    ["whose Pod ended before", { before: [ended("PodFailed")], after: [ended("PodFailed")] }],
    [
      "that goes when it expires",
      { sandbox: aSandbox({ shutdownPolicy: "Delete" }), before: [ready], after: [expired] },
    ],
  ] satisfies [string, Partial<Passage>][])("%s", (_, parts) => {
    expect(told(parts)).toEqual([]);
  });
});
