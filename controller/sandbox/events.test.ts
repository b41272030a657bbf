import { describe, expect, it } from "vitest";
import type { Condition } from "../../api/kinds/meta.ts";
import { aPodOf, aSandbox, noon } from "../../test/support/builders/builders.ts";
import { eventsOf, type StatusTransition } from "./events.ts";

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
const refusedPod: StatusTransition["failures"] = [
  { action: { do: "createPod", pod: aPodOf(aSandbox()) }, message: "refused", retry: "slowly" },
];

const recorded = (parts: Partial<StatusTransition>) =>
  eventsOf({ sandbox: aSandbox(), before: [], after: [], podCreated: false, failures: [], ...parts }).map(
    ({ type, reason, action }) => `${type} ${reason} ${action}`,
  );

describe("an event reports of a Sandbox", () => {
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
  ] satisfies [string, Partial<StatusTransition>, string][])("%s", (_, parts, event) => {
    expect(recorded(parts)).toEqual([event]);
  });
});

describe("a malformed time that an API server accepts", () => {
  const keepAwakeUntil = "2099-01-01T00:00:00ZT";
  const sandbox = aSandbox(
    { shutdownTime: "2099-01-01T00:00:00+24:00", autoSuspension: { keepAwakeUntil } },
    { generation: 3 },
  );
  const readyOf = (observedGeneration: number) => [{ ...ready, observedGeneration }];

  it("is reported in one event for each generation, with its field and its text", () => {
    const [event, ...others] = eventsOf({
      ...{ sandbox, before: readyOf(2), after: readyOf(3), podCreated: false, failures: [] },
    });
    expect(others).toEqual([]);
    expect(event).toMatchObject({ type: "Warning", reason: "UnreadableTime" });
    expect(event?.note).toContain('spec.shutdownTime "2099-01-01T00:00:00+24:00"');
    expect(event?.note).toContain(`spec.autoSuspension.keepAwakeUntil "${keepAwakeUntil}"`);
    expect(recorded({ sandbox, before: readyOf(3), after: readyOf(3) })).toEqual([]);
  });
});

describe("no event reports of a Sandbox", () => {
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
  ] satisfies [string, Partial<StatusTransition>][])("%s", (_, parts) => {
    expect(recorded(parts)).toEqual([]);
  });
});

describe("an event about memory that is not kept", () => {
  const hibernation = {
    state: "Stopped",
    reason: "NoProvider",
    message: "the controller runs without --hibernation",
  } as const;
  const stays = condition(
    "AutoSuspensionBlocked",
    "True",
    "MemoryNotKept",
    "the controller runs without --hibernation",
  );
  const silent = condition("AutoSuspensionBlocked", "True", "ActivatorUnreachable");

  it("reports each suspension that loses it once", () => {
    expect(recorded({ hibernation })).toEqual(["Warning MemoryNotKept Suspending"]);
    expect(recorded({ sandbox: aSandbox({}, {}, { hibernation }), hibernation })).toEqual([]);
    expect(recorded({ hibernation: { lastWake: { mode: "Anew" } } })).toEqual([]);
  });

  it("reports once that a sandbox stays awake for it", () => {
    expect(recorded({ after: [stays] })).toEqual(["Warning SuspensionBlocked Suspending"]);
    expect(recorded({ before: [silent], after: [stays] })).toEqual(["Warning SuspensionBlocked Suspending"]);
    expect(recorded({ before: [stays], after: [stays] })).toEqual([]);
    expect(recorded({ before: [stays], after: [silent] })).toEqual([]);
  });
});
