import { describe, expect, it } from "vitest";
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { ObjectMeta } from "../../../api/kinds/meta.ts";
import type { Hibernation, SandboxSpec, SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { givenUpAnnotation, memoryImageAnnotation, sealedPodAnnotation } from "../../../api/rules/keys.ts";
import { formatSeal } from "../../../api/rules/suspension.ts";
import { aPodOf, aSandbox, noon } from "../../../test/support/builders/builders.ts";
import { aCapturedImage } from "../../../test/support/builders/memory-images.ts";
import type { MemoryRefusal, SeenImages } from "../../suspension/hibernation/memory-provider.ts";
import type { SeenPod } from "./condition-facts.ts";
import { hibernationOf, type SeenMemory } from "./hibernation.ts";

const refusal: MemoryRefusal = { reason: "NoProvider", message: "the controller runs without --hibernation" };
const stopped: Hibernation = { state: "Stopped", ...refusal };
const anew: Hibernation = { lastWake: { mode: "Anew", reason: "NoProvider" } };

const condition = (status: "True" | "False") =>
  ({ type: "Suspended", status, reason: "", message: "", lastTransitionTime: noon }) as const;
const ran: SandboxStatus = { conditions: [condition("False")] };
const slept: SandboxStatus = { conditions: [condition("True")] };

interface Case {
  readonly spec?: Partial<SandboxSpec>;
  readonly status?: SandboxStatus;
  readonly sealedUid?: string;
  readonly pod?: Partial<ObjectMeta> | Exclude<SeenPod["is"], "owned" | "several">;
  readonly refusal?: MemoryRefusal | undefined;
}

function told(given: Case): Hibernation | undefined {
  const { spec = {}, status = {}, sealedUid, pod = "none" } = given;
  const seal = sealedUid && formatSeal({ podName: "nova", podUid: sealedUid, cause: "Inactivity", at: noon });
  const sandbox = aSandbox(
    { suspensionStrategy: { type: "Hibernate" }, ...spec },
    seal ? { annotations: { [sealedPodAnnotation]: seal } } : {},
    status,
  );
  const seen: SeenPod =
    typeof pod === "string" ? { is: pod } : { is: "owned", pod: aPodOf(sandbox, { uid: "pod-1", ...pod }) };
  return hibernationOf({ sandbox, pod: seen, refusal: "refusal" in given ? given.refusal : refusal });
}

const asleep = { operatingMode: "Suspended" } as const;

describe("a sandbox that is to hibernate", () => {
  it.each<[string, Case]>([
    ["its Pod is sealed", { spec: asleep, sealedUid: "pod-1", pod: {} }],
    ["its Pod is sealed, and a wake waits for the next", { sealedUid: "pod-1", pod: {} }],
    ["its Pod ends without a seal", { spec: asleep, pod: { deletionTimestamp: noon } }],
    ["its Pod has gone between two passes", { spec: asleep, status: ran }],
  ])("tells that it is stopped without its memory, and why, once %s", (_, given) => {
    expect(told(given)).toEqual(stopped);
  });

  it.each<[string, Case]>([
    ["it runs for the first time", { pod: {} }],
    ["it was created suspended", { spec: asleep }],
    ["it got its strategy in its sleep", { spec: asleep, status: slept }],
    ["its suspension may still be cancelled", { spec: asleep, status: ran, pod: {} }],
    ["its Pod belongs to another owner", { spec: asleep, status: ran, pod: "someoneElses" }],
    ["it runs and its Pod is gone", { status: ran }],
  ])("tells nothing while %s", (_, given) => {
    expect(told(given)).toBeUndefined();
  });

  it("tells of the sleep what was true at its begin, also once a provider could keep memory", () => {
    const status = { ...slept, hibernation: { ...stopped, ...anew } };
    expect(told({ spec: asleep, status, refusal: undefined })).toEqual(status.hibernation);
    expect(told({ status, refusal: undefined })).toEqual(status.hibernation);
    const ending = { ...ran, hibernation: stopped };
    expect(told({ spec: asleep, status: ending, sealedUid: "pod-1", pod: {}, refusal: undefined })).toEqual(stopped);
    expect(told({ spec: asleep, status: ending, refusal: undefined })).toEqual(stopped);
  });

  it("tells that it was started anew, and why, once it has its next Pod", () => {
    const status = { ...slept, hibernation: stopped };
    expect(told({ status, pod: { uid: "pod-2" } })).toEqual(anew);
    expect(told({ status, pod: { uid: "pod-2" }, sealedUid: "pod-1" })).toEqual(stopped);
    expect(told({ status, pod: { deletionTimestamp: noon } })).toEqual(stopped);
  });

  it("keeps what it tells of its last wake until the next one", () => {
    const status = { ...ran, hibernation: anew };
    expect(told({ status, pod: {} })).toEqual(anew);
    expect(told({ status, spec: asleep, sealedUid: "pod-1", pod: {} })).toEqual({ ...stopped, ...anew });
  });

  it("never tells that memory is kept that nobody has captured", () => {
    expect(told({ spec: asleep, sealedUid: "pod-1", pod: {}, refusal: undefined })).toEqual({
      state: "Stopped",
      reason: "NotCaptured",
      message: "the memory was not captured",
    });
  });
});

it.each<[string, Partial<SandboxSpec>]>([
  ["with an empty strategy", { suspensionStrategy: {} }],
  ["with type Stop", { suspensionStrategy: { type: "Stop" } }],
])("a sandbox %s tells nothing, and what it told before goes", (_, strategy) => {
  expect(told({ spec: { ...strategy, ...asleep }, sealedUid: "pod-1", pod: {} })).toBeUndefined();
  expect(told({ spec: strategy, status: { hibernation: stopped }, pod: {} })).toBeUndefined();
});

describe("memory that was kept until the strategy was edited", () => {
  const stop = { suspensionStrategy: { type: "Stop" } } as const;
  const kept: Hibernation = { state: "Hibernated", node: "node-1", lastWake: { mode: "Restored" } };
  const lost = { mode: "Anew", reason: "StrategyChanged" };

  it.each(["Hibernated", "Restoring"] as const)("is told as lost in the sleep, from the state %s", (state) => {
    const gone = told({ spec: { ...stop, ...asleep }, status: { ...slept, hibernation: { ...kept, state } } });
    expect(gone).toMatchObject({ state: "Stopped", reason: "StrategyChanged", lastWake: kept.lastWake });
    const status = { ...slept, hibernation: gone ?? {} };
    expect(told({ spec: { ...stop, ...asleep }, status })).toEqual(gone);
    expect(told({ spec: asleep, status })).toEqual(gone);
    expect(told({ spec: stop, status })).toEqual(gone);
    expect(told({ spec: stop, status, pod: { uid: "pod-2" } })).toEqual({ lastWake: lost });
  });

  it("is told as lost by its wake, until the next suspension", () => {
    const annotations = { [givenUpAnnotation]: "StrategyChanged" };
    const memory = { images: [aCapturedImage({ metadata: { annotations } })], waitedMs: 0 };
    const at = (hibernation: Hibernation, sealed: boolean) => {
      const seal = formatSeal({ podName: "nova", podUid: "pod-2", cause: "Person", at: noon });
      const sandbox = aSandbox(stop, sealed ? { annotations: { [sealedPodAnnotation]: seal } } : {}, { hibernation });
      return hibernationOf({
        ...{ sandbox, refusal: undefined, memory },
        pod: { is: "owned", pod: aPodOf(sandbox, { uid: "pod-2" }) },
      });
    };
    expect(at(kept, false)).toEqual({ lastWake: lost });
    expect(at({ lastWake: { mode: "Anew", reason: "StrategyChanged" } }, false)).toEqual({ lastWake: lost });
    expect(at({ lastWake: { mode: "Anew", reason: "StrategyChanged" } }, true)).toBeUndefined();
  });
});

describe("a wake whose Pod ends before its node has told what it got", () => {
  const hibernated: Hibernation = { state: "Hibernated", node: "node-1", bytes: 1 };
  const asking = { annotations: { [memoryImageAnnotation]: "pod-pod-1" } };
  const at = (hibernation: Hibernation, seen: Pick<SeenMemory, "pod" | "memory">) => {
    const sandbox = aSandbox({ suspensionStrategy: { type: "Hibernate" } }, {}, { ...slept, hibernation });
    return hibernationOf({ sandbox, refusal: undefined, ...seen });
  };
  const podOf = (uid: string, metadata: Partial<ObjectMeta> = {}): SeenPod => {
    const pod = aPodOf(aSandbox(), { uid, ...metadata });
    return { is: "owned", pod: { ...pod, spec: { containers: [], ...pod.spec, nodeName: "node-1" } } };
  };
  const memoryOf = (status: MemoryImage["status"]): SeenImages => ({
    images: [aCapturedImage({ ...(status && { status }) })],
    waitedMs: 0,
  });
  const failed = memoryOf({
    phase: "Lost",
    restore: { podUID: "pod-2", outcome: "Failed", reason: "RestoreInterrupted" },
  });

  it("keeps a state until an answer is told, and tells it of the image, not of the Pod that lives", () => {
    const restoring = at(hibernated, { pod: podOf("pod-2", asking), memory: memoryOf({ phase: "Captured" }) });
    expect(restoring).toEqual({ ...hibernated, state: "Restoring" });
    const none: SeenPod = { is: "none" };
    expect(at(restoring ?? {}, { pod: none, memory: failed })).toEqual(restoring);
    expect(at(restoring ?? {}, { pod: podOf("pod-3"), memory: failed })).toEqual({
      lastWake: { mode: "Anew", podUID: "pod-2", reason: "RestoreFailed" },
    });
    const restored = memoryOf({ phase: "Restored", restore: { podUID: "pod-2", outcome: "Restored", durationMs: 4 } });
    expect(at(restoring ?? {}, { pod: podOf("pod-3"), memory: restored })).toEqual({
      lastWake: { mode: "Restored", podUID: "pod-2", durationMilliseconds: 4 },
    });
  });

  it("tells that the next Pod was started anew if the node says nothing", () => {
    const restoring: Hibernation = { ...hibernated, state: "Restoring" };
    expect(at(restoring, { pod: podOf("pod-3"), memory: { images: [], waitedMs: 0 } })).toEqual({
      lastWake: { mode: "Anew", reason: "ImageLost" },
    });
  });
});
