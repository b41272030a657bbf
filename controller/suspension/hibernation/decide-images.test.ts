import { describe, expect, it } from "vitest";
import type { ObjectMeta } from "../../../api/kinds/meta.ts";
import type { Hibernation, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import {
  memoryImageAnnotation,
  runHashAnnotation,
  sealedPodAnnotation,
  usedByAnnotation,
} from "../../../api/rules/keys.ts";
import { formatSeal } from "../../../api/rules/suspension.ts";
import { aPodOf, aSandbox, noon } from "../../../test/support/builders/builders.ts";
import { aCapturedImage, anImage } from "../../../test/support/builders/memory-images.ts";
import { decideImages } from "./decide-images.ts";

const hibernates: Partial<SandboxSpec> = { suspensionStrategy: { type: "Hibernate", timeoutSeconds: 300 } };
const asleep: Partial<SandboxSpec> = { ...hibernates, operatingMode: "Suspended" };

interface Case {
  readonly spec?: Partial<SandboxSpec>;
  readonly told?: Hibernation;
  readonly sealed?: boolean;
  readonly pod?: Partial<ObjectMeta> | "none";
  readonly phase?: "Pending" | "Running";
  readonly isSpare?: boolean;
  readonly runtimeClassName?: string;
  readonly image?: ReturnType<typeof anImage>;
}

function actions(given: Case): readonly string[] {
  const { spec = hibernates, told, sealed, pod = {}, phase = "Running", image, isSpare = false } = given;
  const { runtimeClassName = "gvisor" } = given;
  const seal = formatSeal({ podName: "nova", podUid: "pod-1", cause: "Person", at: noon });
  const annotations = sealed ? { [sealedPodAnnotation]: seal } : {};
  const sandbox = aSandbox(spec, { annotations }, told ? { hibernation: told } : {});
  const hashed = { uid: "pod-1", annotations: { [runHashAnnotation]: "hash" } };
  const own = pod === "none" ? undefined : aPodOf(sandbox, { ...hashed, ...pod }, { phase });
  const live = own && { ...own, spec: { containers: [], nodeName: "node-1", runtimeClassName } };
  const seen = { images: image ? [image] : [], waitedMs: 0 };
  return decideImages({ sandbox, pod: live, isSpare, seen }).map((action) => action.do);
}

describe("the image of a Pod", () => {
  it("is made once, when the Pod runs, with at most 60 s for a capture", () => {
    expect(actions({})).toEqual(["createImage"]);
    expect(actions({ image: anImage() })).toEqual([]);
    const sandbox = aSandbox(hibernates);
    const pod = aPodOf(sandbox, { uid: "u", annotations: { [runHashAnnotation]: "hash" } }, { phase: "Running" });
    const bound = { ...pod, spec: { containers: [], nodeName: "n", runtimeClassName: "gvisor" } };
    const [made] = decideImages({ sandbox, pod: bound, isSpare: false, seen: { images: [], waitedMs: 0 } });
    expect(made).toMatchObject({
      image: { metadata: { name: "pod-u" }, spec: { timeoutSeconds: 60, stage: "Preflight", runHash: "hash" } },
    });
  });

  it.each<[string, Case]>([
    ["does not run yet", { phase: "Pending" }],
    ["ends", { pod: { deletionTimestamp: noon } }],
    ["is sealed", { sealed: true }],
    ["is to be deleted", { spec: asleep }],
    ["is of a spare in a warm pool", { isSpare: true }],
    ["is not to hibernate", { spec: {} }],
    ["was made without a run hash", { pod: { annotations: {} } }],
    ["cannot be captured by its spec", { runtimeClassName: "" }],
  ])("is not made if the Pod %s", (_, given) => {
    expect(actions(given)).toEqual([]);
  });
});

describe("an image", () => {
  const kept = aCapturedImage();
  const hibernated: Hibernation = { state: "Hibernated" };
  const unknown: Hibernation = { state: "Restoring" };
  const restoring = { uid: "pod-2", annotations: { [memoryImageAnnotation]: "pod-pod-1" } };
  const restored = aCapturedImage({ status: { restore: { podUID: "pod-2", outcome: "Restored" } } });

  it.each<[string, Case]>([
    ["its memory is kept", { spec: asleep, pod: "none", told: hibernated, image: kept }],
    [
      "the status tells of it, also without the strategy",
      { spec: { operatingMode: "Suspended" }, pod: "none", told: hibernated, image: kept },
    ],
    ["its Pod is about to be made", { pod: "none", told: hibernated, image: kept }],
    [
      "nobody knows what the Pod got that has asked for it",
      { pod: { uid: "pod-2", annotations: {} }, told: unknown, image: kept },
    ],
    [
      "it is asleep and somebody makes a Pod",
      { spec: asleep, pod: { uid: "pod-2", annotations: {} }, told: hibernated, image: kept },
    ],
    ["its Pod is about to end", { spec: asleep, sealed: true, image: kept }],
    ["its Pod is frozen, also without the strategy", { spec: {}, sealed: true, image: kept }],
    ["its memory goes into the next Pod", { pod: restoring, image: kept }],
    ["the status does not tell of the restore yet", { pod: restoring, image: restored }],
    [
      "the status does not tell yet why it is not used",
      { pod: { uid: "pod-2", annotations: {} }, told: hibernated, image: kept },
    ],
  ])("stays while %s", (_, given) => {
    expect(actions(given)).toEqual([]);
  });

  it("goes once the Pod that could have it is gone without an answer, and there is memory of a later life", () => {
    const metadata = { annotations: { [usedByAnnotation]: "pod-2" } };
    const unanswered = aCapturedImage({ metadata });
    const later = aCapturedImage({ metadata: { name: "pod-pod-2" }, spec: { podUID: "pod-2" } });
    const sandbox = aSandbox(asleep, {}, { hibernation: hibernated });
    const user = aPodOf(sandbox, { uid: "pod-2" });
    const decided = (pod?: typeof user, ...images: readonly (typeof later)[]) =>
      decideImages({ sandbox, pod, isSpare: false, seen: { images, waitedMs: 0 } });
    expect(decided(undefined, unanswered, later)).toEqual([{ do: "deleteImage", image: unanswered }]);
    expect(decided(user, unanswered, later), "it is about to go").toEqual([]);
    expect(decided(undefined, unanswered), "the status still tells of it").toEqual([]);
  });

  it.each<[string, Case]>([
    ["the sandbox is not to hibernate any more", { spec: {}, image: anImage() }],
    [
      "the memory is used, and told",
      { pod: { ...restoring }, told: { lastWake: { mode: "Restored" } }, image: restored },
    ],
    ["another Pod lives, and that is told", { pod: { uid: "pod-2", annotations: {} }, told: {}, image: kept }],
    [
      "nothing was captured, and that is told",
      { spec: asleep, pod: "none", told: { state: "Stopped" }, image: anImage() },
    ],
    [
      "it holds no memory beside one that does",
      { spec: asleep, pod: "none", told: hibernated, image: anImage({ spec: { podUID: "pod-0" } }) },
    ],
  ])("goes once %s", (_, given) => {
    expect(actions(given)).toEqual(["deleteImage"]);
  });
});
