import { describe, expect, it } from "vitest";
import { findCondition } from "../../api/rules/conditions.ts";
import { podNameAnnotation, sealedPodAnnotation } from "../../api/rules/keys.ts";
import { formatSeal } from "../../api/rules/suspension.ts";
import { aPodOf, aSandbox, noon } from "../../test/support/builders/builders.ts";
import { anObservation } from "../../test/support/builders/observed.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./observed.ts";
import { conclude } from "./status/conclude.ts";

const seal = formatSeal({ podName: "nova", podUid: "uid-of-nova", cause: "Inactivity", at: noon });
const sealed = { annotations: { [podNameAnnotation]: "nova", [sealedPodAnnotation]: seal } };
const named = { annotations: { [podNameAnnotation]: "nova" } };

const verbs = (seen: Partial<Observed>) => decide(anObservation(seen)).actions.map((action) => action.do);
const suspendedCondition = (seen: Partial<Observed>) => {
  const ended = { observed: anObservation(seen), failures: [], clusterDomain: "cluster.local" };
  return findCondition(conclude({ course: "children", ...ended }).status.conditions, "Suspended");
};

describe("a sandbox whose Pod is marked for deletion", () => {
  it("gets no other Pod before the seal is off", () => {
    expect(verbs({ sandbox: aSandbox({}, sealed) })).toEqual([]);
    expect(verbs({ sandbox: aSandbox({}, named) })).toEqual(["createPod"]);
  });

  it("adopts no Pod either", () => {
    const spare = aPodOf(aSandbox(), { name: "nova", ownerReferences: [] });
    expect(verbs({ sandbox: aSandbox({}, sealed), pods: [spare] })).toEqual([]);
  });
});

describe("a suspension that is under way", () => {
  const sandbox = aSandbox({ operatingMode: "Suspended" }, named);

  it("leaves its Pod and its name alone", () => {
    expect(verbs({ sandbox, pods: [aPodOf(sandbox)], suspending: true })).toEqual([]);
    expect(verbs({ sandbox, suspending: true })).toEqual([]);
    expect(verbs({ sandbox, pods: [aPodOf(sandbox)] })).toEqual(["deletePod"]);
  });

  it("is not reported as complete because a store shows no Pod", () => {
    expect(suspendedCondition({ sandbox, suspending: true })).toMatchObject({
      status: "Unknown",
      reason: "PodStateUnknown",
    });
    expect(suspendedCondition({ sandbox })).toMatchObject({ status: "True", reason: "PodTerminated" });
  });
});
