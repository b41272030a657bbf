import { describe, expect, it } from "vitest";
import type { ObjectMeta, Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox, SandboxSpec } from "../../api/kinds/sandbox.ts";
import {
  adoptableLabel,
  memoryImageAnnotation,
  podNameAnnotation,
  sealedPodAnnotation,
  signatureAnnotation,
  signingGate,
  usedByAnnotation,
  withdrawnAnnotation,
} from "../../api/rules/keys.ts";
import { formatSeal } from "../../api/rules/suspension.ts";
import {
  aPodOf,
  aSandbox,
  aServiceOf,
  controlledBy,
  noon,
  readyStatus,
  someoneElse,
  trackingLabelsOf,
} from "../../test/support/builders/builders.ts";
import { aCapturedImage } from "../../test/support/builders/memory-images.ts";
import { anObservation } from "../../test/support/builders/observed.ts";
import { runHashOf } from "../suspension/hibernation/run-hash.ts";
import type { Action } from "./actions.ts";
import { decide } from "./decide.ts";
import { decidePod, mayCreatePod } from "./decide-pod.ts";
import type { Observed } from "./observed.ts";

const recorded = (name: string) => ({ annotations: { [podNameAnnotation]: name } });
const adoptable = { [adoptableLabel]: "true" };
const unowned = (labels: Readonly<Record<string, string>> = {}) => ({ ownerReferences: [], labels });

const act = (seen: Partial<Observed>): readonly Action[] => decide(anObservation(seen)).actions;
const verbs = (actions: readonly Action[]) => actions.map((action) => action.do);
const refusal = (actions: readonly Action[]) => actions.find((action) => action.do === "refuse");
const recordedName = (actions: readonly Action[]) =>
  actions.flatMap((action) => (action.do === "recordPodName" ? [action.name] : []));

describe("the Pod of a running Sandbox", () => {
  const sandbox = aSandbox();

  it("is made under the Sandbox's name, and recorded", () => {
    const actions = act({});
    expect(verbs(actions)).toEqual(["createPod", "recordPodName"]);
    expect(actions[0]).toMatchObject({
      pod: {
        metadata: {
          name: "nova",
          namespace: "lab",
          labels: trackingLabelsOf(sandbox),
          ownerReferences: [controlledBy(sandbox)],
        },
      },
    });
    expect(recordedName(actions)).toEqual(["nova"]);
  });

  it("is all that a minimal Sandbox gets", () => {
    expect(verbs(act({ sandbox: aSandbox({}, recorded("nova")) }))).toEqual(["createPod"]);
  });

  it.each([
    { why: "allows it", labels: adoptable },
    { why: "has the tracking label", labels: trackingLabelsOf(sandbox) },
  ])("is a recorded Pod without a controller, if that Pod $why", ({ labels }) => {
    const pod = aPodOf(sandbox, { name: "spare", ...unowned(labels) });
    const actions = act({ sandbox: aSandbox({}, recorded("spare")), pods: [pod] });
    expect(verbs(actions)).toEqual(["adoptPod"]);
    expect(actions[0]).toMatchObject({ pod, patch: { metadata: { ownerReferences: [controlledBy(sandbox)] } } });
  });

  it("is not a Pod that was not given to it, which stays recorded and unchanged", () => {
    const pod = aPodOf(sandbox, { name: "spare", ...unowned() });
    const actions = act({ sandbox: aSandbox({}, recorded("spare")), pods: [pod] });
    expect(verbs(actions)).toEqual(["refuse"]);
    const why = /^Pod spare exists and is not controlled by this Sandbox; label it .*adoptable=true/;
    expect(refusal(actions)).toMatchObject({ part: "pod", untilChanged: false, why: expect.stringMatching(why) });
  });

  it("is taken over even if its labels are right already", () => {
    const pod = aPodOf(sandbox, unowned(trackingLabelsOf(sandbox)));
    const [action] = act({ pods: [pod] });
    expect(action).toEqual({
      do: "adoptPod",
      pod,
      patch: {
        metadata: { resourceVersion: pod.metadata.resourceVersion, ownerReferences: [controlledBy(sandbox)] },
      },
    });
  });

  it("is never another owner's: that Pod is no longer recorded, and none is created in its place", () => {
    const pod = aPodOf(sandbox, { ownerReferences: [someoneElse] });
    const actions = act({ sandbox: aSandbox({}, recorded("nova")), pods: [pod] });
    expect(verbs(actions)).toEqual(["recordPodName", "refuse"]);
    expect(recordedName(actions)).toEqual([undefined]);
    expect(refusal(actions)).toMatchObject({ why: "Pod nova is controlled by ReplicaSet other (uid uid-of-other)" });
  });

  it("is the Pod that it owns, also when a missing Pod was recorded", () => {
    const actions = act({ sandbox: aSandbox({}, recorded("gone")), pods: [aPodOf(sandbox)] });
    expect(actions).toEqual([{ do: "recordPodName", name: "nova" }]);
  });

  it("is the Pod that it owns, also when an adoptable Pod was recorded", () => {
    const spare = aPodOf(sandbox, { name: "spare", ...unowned(adoptable) });
    const actions = act({ sandbox: aSandbox({}, recorded("spare")), pods: [spare, aPodOf(sandbox)] });
    expect(actions).toEqual([{ do: "recordPodName", name: "nova" }]);
  });

  it("is not chosen among several: nothing is created, deleted or patched, and the Service stays", () => {
    const pods = [aPodOf(sandbox), aPodOf(sandbox, { name: "second" })];
    expect(act({ sandbox: aSandbox({ service: true }), pods })).toEqual([
      {
        do: "refuse",
        part: "pod",
        why: "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod",
        untilChanged: true,
      },
    ]);
  });

  it("is distinguished from another owner's with the same label", () => {
    const stranger = aPodOf(sandbox, { name: "stranger", ownerReferences: [someoneElse] });
    expect(act({ sandbox: aSandbox({}, recorded("nova")), pods: [stranger, aPodOf(sandbox)] })).toEqual([]);
  });

  it("has no successor before it is gone", () => {
    const pods = [aPodOf(sandbox, { deletionTimestamp: noon })];
    expect(act({ sandbox: aSandbox({}, recorded("nova")), pods })).toEqual([]);
  });

  it("does not follow an edited template", () => {
    const edited: Partial<SandboxSpec> = { podTemplate: { spec: { containers: [{ name: "main", image: "other" }] } } };
    expect(act({ sandbox: aSandbox(edited, recorded("nova")), pods: [aPodOf(sandbox)] })).toEqual([]);
  });

  it.each(["Succeeded", "Failed"] as const)("is not made anew when it has %s", (phase) => {
    const pods = [aPodOf(sandbox, {}, { phase })];
    expect(act({ sandbox: aSandbox({}, recorded("nova")), pods })).toEqual([]);
  });

  it("is left alone, with everything else, once the Sandbox has settled", () => {
    const settled = { sandbox: aSandbox({}, recorded("nova")), pods: [aPodOf(sandbox, {}, readyStatus)] };
    expect(decide(anObservation(settled))).toEqual({ course: "children", actions: [] });
  });

  it("is not that of an earlier Sandbox of the same name", () => {
    const stranger = aPodOf(aSandbox({}, { uid: "uid-of-the-old-nova" }));
    expect(verbs(act({ pods: [stranger] }))).toEqual(["refuse"]);
  });

  it("is created after a wrong name was removed, so that no wrong name stays if the creation fails", () => {
    const actions = act({ sandbox: aSandbox({}, recorded("gone")) });
    expect(verbs(actions)).toEqual(["recordPodName", "createPod", "recordPodName"]);
    expect(recordedName(actions)).toEqual([undefined, "nova"]);
  });
});

describe("the Pod of a suspended Sandbox", () => {
  const asleep = (metadata: Partial<ObjectMeta> = {}) => aSandbox({ operatingMode: "Suspended" }, metadata);
  const sandbox = asleep();

  it("is deleted by UID, and stays recorded until it is gone", () => {
    const pod = aPodOf(sandbox, {}, readyStatus);
    expect(act({ sandbox: asleep(recorded("nova")), pods: [pod] })).toEqual([
      { do: "deletePod", pod, mayBeGone: false },
    ]);
  });

  it("is not deleted twice", () => {
    const pods = [aPodOf(sandbox, { deletionTimestamp: noon })];
    expect(act({ sandbox: asleep(recorded("nova")), pods })).toEqual([]);
  });

  it("is no longer recorded once it is gone", () => {
    expect(act({ sandbox: asleep(recorded("nova")) })).toEqual([{ do: "recordPodName", name: undefined }]);
    expect(act({ sandbox })).toEqual([]);
  });

  it.each([
    { whose: "another owner's", ownerReferences: [someoneElse] },
    { whose: "no owner's", ownerReferences: [] },
  ])("is kept when it is $whose, but no longer recorded", ({ ownerReferences }) => {
    const pods = [aPodOf(sandbox, { ownerReferences })];
    expect(act({ sandbox: asleep(recorded("nova")), pods })).toEqual([{ do: "recordPodName", name: undefined }]);
  });

  it("is deleted under whatever name it was recorded", () => {
    const pod = aPodOf(sandbox, { name: "adopted" });
    expect(verbs(act({ sandbox: asleep(recorded("adopted")), pods: [pod] }))).toEqual(["deletePod"]);
  });

  it("is deleted, and the name of another Pod is no longer recorded", () => {
    const actions = act({ sandbox: asleep(recorded("former")), pods: [aPodOf(sandbox, {})] });
    expect(verbs(actions)).toEqual(["deletePod", "recordPodName"]);
    expect(recordedName(actions)).toEqual([undefined]);
  });

  it("alone is deleted: volumes and Service exist even for a sandbox that was created suspended", () => {
    const spec: Partial<SandboxSpec> = {
      operatingMode: "Suspended",
      service: true,
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
    };
    expect(verbs(act({ sandbox: aSandbox(spec) }))).toEqual(["createClaim", "createService"]);
  });
});

describe("a change of the Pod's metadata", () => {
  const template: Partial<SandboxSpec> = {
    podTemplate: { metadata: { labels: { tier: "gold" } }, spec: { containers: [] } },
  };
  const sandbox = aSandbox(template, recorded("nova"));
  const pods = [aPodOf(sandbox)];
  const decideAfter = (windowMs: number, waitedMs?: number) =>
    decide(anObservation({ sandbox, pods, writeBehind: { windowMs, waitedMs } }));

  it("is written at once without a window", () => {
    const { actions, putOffMs } = decideAfter(0);
    expect(verbs(actions)).toEqual(["patchPod"]);
    expect(putOffMs).toBeUndefined();
  });

  it("waits for the window", () => {
    expect(decideAfter(500)).toEqual({ course: "children", actions: [], putOffMs: 500 });
    expect(decideAfter(500, 200)).toEqual({ course: "children", actions: [], putOffMs: 300 });
  });

  it("is written whole, in one patch, when the window has passed", () => {
    const { actions } = decideAfter(500, 500);
    expect(actions).toEqual([
      {
        do: "patchPod",
        pod: pods[0],
        patch: {
          metadata: { labels: { tier: "gold" }, annotations: { "agents.x-k8s.io/propagated-labels": "tier" } },
        },
      },
    ]);
  });

  it("waits for at most a second", () => {
    expect(decideAfter(5_000).putOffMs).toBe(1_000);
    expect(verbs(decideAfter(5_000, 1_000).actions)).toEqual(["patchPod"]);
  });

  it("never waits when it comes with an adoption", () => {
    const spare = aPodOf(sandbox, unowned(adoptable));
    const decision = decide(
      anObservation({ sandbox, pods: [spare], writeBehind: { windowMs: 500, waitedMs: undefined } }),
    );
    expect(verbs(decision.actions)).toEqual(["adoptPod"]);
  });
});

describe("the children of an expired Sandbox", () => {
  const expiredStatus = {
    conditions: [
      { type: "Ready", status: "False", reason: "SandboxExpired", message: "", lastTransitionTime: noon },
    ] as const,
  };
  const marked = (spec: Partial<SandboxSpec> = {}, metadata: Partial<ObjectMeta> = {}) =>
    aSandbox({ shutdownTime: noon, ...spec }, metadata, expiredStatus);

  it("stay until the status reports the expiry", () => {
    const sandbox = aSandbox({ shutdownTime: noon });
    expect(decide(anObservation({ sandbox, pods: [aPodOf(sandbox)] }))).toEqual({ course: "markExpired", actions: [] });
  });

  it("go then, Pod and Service", () => {
    const sandbox = marked();
    const { course, actions } = decide(
      anObservation({ sandbox, pods: [aPodOf(sandbox)], service: aServiceOf(sandbox) }),
    );
    expect(course).toBe("tearDown");
    expect(verbs(actions)).toEqual(["deletePod", "deleteService"]);
  });

  it("go under whatever name they were adopted", () => {
    const sandbox = marked({}, recorded("adopted"));
    const pod = aPodOf(sandbox, { name: "adopted", labels: {} });
    expect(act({ sandbox, pods: [pod] })).toEqual([{ do: "deletePod", pod, mayBeGone: true }]);
  });

  it("go with the Sandbox itself under the policy Delete", () => {
    const sandbox = marked({ shutdownPolicy: "Delete" });
    expect(verbs(act({ sandbox, pods: [aPodOf(sandbox)] }))).toEqual(["deletePod", "deleteSandbox"]);
  });

  it.each([
    { whose: "another owner's", ownerReferences: [someoneElse] },
    { whose: "no owner's", ownerReferences: [] },
  ])("stay when they are $whose", ({ ownerReferences }) => {
    const sandbox = marked();
    expect(act({ sandbox, pods: [aPodOf(sandbox, { ownerReferences })] })).toEqual([]);
  });

  it("need not be there", () => {
    expect(act({ sandbox: marked() })).toEqual([]);
  });

  it("go with the memory that was kept: nothing could use it any more", () => {
    const images = [aCapturedImage(), aCapturedImage({ metadata: { name: "going", deletionTimestamp: noon } })];
    const memory = { images, waitedMs: 0 };
    expect(act({ sandbox: marked(), memory })).toEqual([
      { do: "confirmSandbox" },
      { do: "deleteImage", image: images[0] },
    ]);
    expect(verbs(act({ sandbox: marked({ shutdownPolicy: "Delete" }), memory }))).toEqual(["deleteSandbox"]);
  });
});

describe("a Pod that goes on from memory", () => {
  const strategy = { suspensionStrategy: { type: "Hibernate" } } as const;
  const asleep = aSandbox(strategy, {}, { hibernation: { state: "Hibernated" } });
  const runHash = runHashOf(asleep.spec.podTemplate.spec);
  const memory = (hash: string) => ({ images: [aCapturedImage({ spec: { runHash: hash } })], waitedMs: 0 });

  it("is created with what it goes on from, and without it after the image was given up", () => {
    const steps = (hash: string) =>
      decidePod(anObservation({ sandbox: asleep, memory: memory(hash) })).actions.map((action) => action.do);
    expect(steps(runHash)).toEqual(["createPod", "recordPodName"]);
    expect(steps("old")).toEqual(["giveUpImage", "createPod", "recordPodName"]);
  });

  it("is deleted if it waits for a signature, by any maker: it is signed when it is made, or never", () => {
    const spec = { containers: [], schedulingGates: [{ name: signingGate }] };
    const gated = { ...aPodOf(asleep, { uid: "pod-2" }), spec };
    const { actions } = decidePod(anObservation({ sandbox: asleep, pods: [gated], memory: memory(runHash) }));
    expect(actions).toMatchObject([{ do: "deletePod", pod: gated, asSeen: true }]);
  });

  it("frees the image that was promised to it once no signature fits it, and is deleted then", () => {
    const spec = { containers: [], schedulingGates: [{ name: signingGate }] };
    const gated = (annotations = {}) => ({ ...aPodOf(asleep, { uid: "pod-2", annotations }), spec });
    const promised = { annotations: { [usedByAnnotation]: "pod-2" } };
    const steps = (pod: Stored<Pod>, metadata = {}) => {
      const seen = { images: [aCapturedImage({ spec: { runHash }, metadata })], waitedMs: 0 };
      return decidePod(anObservation({ sandbox: asleep, pods: [pod], memory: seen })).actions;
    };
    const { resourceVersion } = gated().metadata;
    const withdrawn = { [withdrawnAnnotation]: "true" };
    expect(steps(gated(), promised)).toMatchObject([
      { do: "patchPod", patch: { metadata: { resourceVersion, annotations: withdrawn } } },
    ]);
    const deletion = { do: "deletePod", asSeen: true };
    expect(steps(gated(withdrawn), promised)).toMatchObject([
      { do: "freeImage", image: { metadata: promised } },
      deletion,
    ]);
    expect(steps(gated(withdrawn))).toMatchObject([deletion]);
    // Its deletion is under way.
    const going = gated(withdrawn);
    const terminating = { ...going, metadata: { ...going.metadata, deletionTimestamp: noon } };
    expect(steps(terminating).map((action) => action.do)).not.toContain("giveUpImage");
  });

  it("is not made after another Pod: memory is given up before that one is adopted, or while it lives", () => {
    const stray = aPodOf(asleep, { uid: "stray", ...unowned(adoptable) });
    const steps = (sandbox: Stored<Sandbox>, pods: readonly Stored<Pod>[]) =>
      decidePod(anObservation({ sandbox, pods, memory: memory(runHash) })).actions;
    expect(steps(asleep, [stray])).toMatchObject([
      { do: "giveUpImage", why: "ForeignPod" },
      ...[{ do: "adoptPod" }, { do: "recordPodName" }],
    ]);
    expect(steps(aSandbox(strategy), [stray])).toMatchObject([
      { do: "giveUpImage", why: "NotRecorded" },
      ...[{ do: "adoptPod" }, { do: "recordPodName" }],
    ]);
    const [one, other] = ["a", "b"].map((name) => aPodOf(asleep, { uid: name, name }));
    if (!one || !other) throw new Error("there are two Pods");
    expect(steps(asleep, [one])).toMatchObject([{ do: "giveUpImage", why: "ForeignPod" }, { do: "recordPodName" }]);
    expect(steps(asleep, [one, other])).toMatchObject([{ do: "giveUpImage" }, { do: "refuse" }]);
    expect(steps(asleep, [aPodOf(asleep, { uid: "pod-1" })])).toMatchObject([{ do: "recordPodName" }]);
  });

  it("is replaced at the end of what it waits for, and not before", () => {
    const annotations = { [memoryImageAnnotation]: "pod-pod-1", [signatureAnnotation]: "s" };
    const waiting = { ...aPodOf(asleep, { uid: "pod-2", annotations }), spec: { containers: [] } };
    const steps = (waitedMs: number, pod: Stored<Pod> = waiting) =>
      decidePod(anObservation({ sandbox: asleep, pods: [pod], memory: { ...memory(runHash), waitedMs } })).actions;
    const replaced = (why: string) => [
      { do: "giveUpImage", why },
      { do: "deletePod", asSeen: true },
    ];
    const stays = (waitedMs: number, pod: Stored<Pod>) =>
      expect(steps(waitedMs, pod).map((action) => action.do)).toEqual(["recordPodName"]);
    const scheduled = (reason: string) => ({
      ...waiting,
      status: { conditions: [{ type: "PodScheduled", status: "False", reason } as const] },
    });
    stays(999, scheduled("Unschedulable"));
    expect(steps(1_000, scheduled("Unschedulable"))).toMatchObject(replaced("NotScheduled"));
    for (const silent of [waiting, scheduled("SchedulingGated"), scheduled("SchedulerError")]) {
      stays(299_999, silent);
      expect(steps(300_000, silent)).toMatchObject(replaced("NotScheduled"));
    }
    const { status } = scheduled("Unschedulable");
    const preempting = { ...waiting, status: { ...status, nominatedNodeName: "node-1" } };
    stays(59_999, preempting);
    expect(steps(60_000, preempting)).toMatchObject(replaced("NotScheduled"));
    const gated = { ...scheduled("SchedulingGated"), spec: { containers: [], schedulingGates: [{ name: "a/queue" }] } };
    stays(86_400_000, gated);
    const bound = { ...waiting, spec: { containers: [], nodeName: "node-1" } };
    const state = { waiting: { reason: "ErrImagePull" } };
    const containerStatuses = [{ name: "main", ready: false, restartCount: 0, image: "", imageID: "", state }];
    const lacking = { ...bound, status: { containerStatuses } };
    stays(39_999, lacking);
    expect(steps(40_000, lacking)).toMatchObject(replaced("ContainerImageMissing"));
    stays(899_999, bound);
    expect(steps(900_000, bound)).toMatchObject(replaced("NotStarted"));
  });

  it("is replaced at once without a provider if its node does not take it, and not while nobody says so", () => {
    const annotations = { [memoryImageAnnotation]: "pod-pod-1", [signatureAnnotation]: "s" };
    const waiting = { ...aPodOf(asleep, { uid: "pod-2", annotations }), spec: { containers: [] } };
    const steps = (status: Pod["status"] = {}) =>
      decidePod(anObservation({ sandbox: asleep, pods: [{ ...waiting, status }] })).actions.map((action) => action.do);
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable" } as const];
    expect(steps({ conditions })).toEqual(["deletePod"]);
    for (const status of [{}, { conditions, nominatedNodeName: "node-1" }]) {
      expect(steps(status)).toEqual(["recordPodName"]);
    }
  });
});

describe("a Pod that may have to be created", () => {
  const seal = formatSeal({ podName: "nova", podUid: "p", cause: "Person", at: noon });
  const cases: Readonly<Record<string, readonly [Partial<SandboxSpec>, Partial<ObjectMeta>, boolean]>> = {
    "for one that runs": [{}, {}, true],
    "not for a suspended one": [{ operatingMode: "Suspended" }, {}, false],
    "not for one with a sealed Pod": [{}, { annotations: { [sealedPodAnnotation]: seal } }, false],
  };
  it.each(Object.entries(cases))("is there %s", (_which, [spec, metadata, expected]) => {
    expect(mayCreatePod(anObservation({ sandbox: aSandbox(spec, metadata) }))).toBe(expected);
  });
});
