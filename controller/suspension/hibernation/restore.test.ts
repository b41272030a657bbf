import { describe, expect, it } from "vitest";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { ContainerStatus, Pod, PodSpec, PodStatus } from "../../../api/kinds/pod.ts";
import type { Hibernation, Sandbox } from "../../../api/kinds/sandbox.ts";
import {
  memoryImageAnnotation,
  memoryStoreAnnotation,
  runHashAnnotation,
  usedByAnnotation,
} from "../../../api/rules/keys.ts";
import { aSandbox } from "../../../test/support/builders/builders.ts";
import { aCapturedImage, anImage, busybox, type ImageParts } from "../../../test/support/builders/memory-images.ts";
import { lossOf, nextPodOf, restoreWaitOf } from "./restore.ts";
import { runHashOf } from "./run-hash.ts";

const spec: PodSpec = { containers: [{ name: "main" }], runtimeClassName: "gvisor" };
const runHash = runHashOf(spec);
const asleep: Hibernation = { state: "Hibernated" };

const sandboxOf = (hibernation: Hibernation | undefined = asleep): Stored<Sandbox> =>
  aSandbox({ suspensionStrategy: { type: "Hibernate" } }, {}, hibernation ? { hibernation } : {});
const pod = (of: PodSpec = spec): Pod => ({ metadata: { name: "nova", namespace: "default" }, spec: of });
const captured = (parts: ImageParts = {}) => aCapturedImage({ ...parts, spec: { runHash, ...parts.spec } });
const seen = (...images: ReturnType<typeof anImage>[]) => ({ images, waitedMs: 0 });

const termOf = (values: string) => ({ key: "metadata.name", operator: "In", values: [values] });

describe("the next Pod of a sandbox that is to hibernate", () => {
  it("goes on from the memory that was kept, on the node that has it", () => {
    const { pod: next, unusable } = nextPodOf(sandboxOf(), pod(), seen(captured()));
    expect(next.metadata.annotations).toEqual({ [memoryImageAnnotation]: "pod-pod-1", [runHashAnnotation]: runHash });
    expect(next.spec?.affinity).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [termOf("node-1")] }] },
      },
    });
    expect(unusable).toEqual([]);
    const { metadata } = nextPodOf(sandboxOf(), pod(), seen(captured({ status: { storeID: "disk-1" } }))).pod;
    expect(metadata.annotations).toHaveProperty([memoryStoreAnnotation], "disk-1");
  });

  it("keeps the affinity of its template, with the node in each alternative", () => {
    const zone = { matchExpressions: [{ key: "zone", operator: "Exists" }] };
    const own = { matchFields: [termOf("n2")] };
    const required = { nodeSelectorTerms: [zone, own] };
    const affinity = { podAffinity: {}, nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    const { pod: next } = nextPodOf(sandboxOf(), pod({ ...spec, affinity }), seen(captured()));
    const nodeSelectorTerms = [
      { ...zone, matchFields: [termOf("node-1")] },
      { matchFields: [termOf("n2"), termOf("node-1")] },
    ];
    expect(next.spec?.affinity).toEqual({
      podAffinity: {},
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    });
  });

  it("does not go on from memory if nothing can permit it, and gives it up first", () => {
    const image = captured();
    const { pod: next, from, unusable } = nextPodOf(sandboxOf(), pod(), { ...seen(image), canSign: false });
    expect([next.metadata.annotations?.[memoryImageAnnotation], from]).toEqual([undefined, undefined]);
    expect(unusable).toEqual([{ image, why: "NoSigningKey" }]);
  });

  it.each([
    { what: "runs something else", image: captured({ spec: { runHash: "old" } }), why: "RunChanged" },
    { what: "has another name", image: captured({ spec: { podName: "old" } }), why: "RunChanged" },
    {
      what: "was restored from it before",
      image: captured({ status: { restore: { podUID: "pod-2", outcome: "Failed" } } }),
      why: "AlreadyUsed",
    },
    {
      what: "is not the Pod that it was promised to",
      image: captured({ metadata: { annotations: { [usedByAnnotation]: "pod-2" } } }),
      why: "AlreadyUsed",
    },
    {
      what: "comes after one that was refused and has lived",
      image: captured({ status: { refused: { podUID: "pod-2", reason: "NoPublicKey" } } }),
      why: "AlreadyUsed",
    },
  ])("does not go on from memory if it $what, and gives it up first", ({ image, why }) => {
    const { pod: next, unusable } = nextPodOf(sandboxOf(), pod(), seen(image));
    expect(next.metadata.annotations).toEqual({ [runHashAnnotation]: runHash });
    expect(next.spec).toEqual(spec);
    expect(unusable).toEqual([{ image, why }]);
  });

  it("goes on from memory that a Pod without a signature of the controller has asked for", () => {
    const image = captured({ status: { refused: { podUID: "stray", reason: "NotSigned" } } });
    expect(nextPodOf(sandboxOf(), pod(), seen(image)).from?.image).toBe(image);
  });

  it("goes on from the last of several memories if the others were promised to Pods before", () => {
    const metadata = { name: "old", annotations: { [usedByAnnotation]: "pod-1" } };
    const used = captured({ metadata, spec: { podUID: "pod-0" } });
    const last = captured();
    expect(nextPodOf(sandboxOf(), pod(), seen(used, last)).from?.image).toBe(last);
  });

  it("is not bound to another node than that of the memory", () => {
    const { unusable } = nextPodOf(sandboxOf(), pod({ ...spec, nodeName: "node-2" }), seen(captured()));
    expect(unusable).toMatchObject([{ why: "NotScheduled" }]);
  });

  it.each([undefined, { state: "Stopped" }, { lastWake: { mode: "Anew" } }] as const)(
    "does not go on from memory that the status does not tell of: %j",
    (hibernation) => {
      const sandbox = aSandbox(
        { suspensionStrategy: { type: "Hibernate" } },
        {},
        hibernation ? { hibernation: hibernation as Hibernation } : {},
      );
      expect(nextPodOf(sandbox, pod(), seen(captured())).unusable).toMatchObject([{ why: "NotRecorded" }]);
    },
  );

  it("does not go on from memory that another Pod has asked for on its node", () => {
    const restoring = aSandbox(
      { suspensionStrategy: { type: "Hibernate" } },
      {},
      { hibernation: { state: "Restoring" } },
    );
    expect(nextPodOf(restoring, pod(), seen(captured())).unusable).toMatchObject([{ why: "AlreadyUsed" }]);
  });

  it("names its images as the captured Pod ran them, and keeps the hash of what the template says", () => {
    const containerImages = [{ name: "main", image: `sha256:${"b".repeat(64)}` }];
    const image = captured({ spec: { containerImages } });
    const { pod: next, from } = nextPodOf(sandboxOf(), pod(), seen(image));
    expect(next.spec?.containers).toEqual([{ ...containerImages[0], imagePullPolicy: "Never" }]);
    expect(next.metadata.annotations).toMatchObject({ [runHashAnnotation]: runHash });
    const anew = nextPodOf(sandboxOf(), pod(), seen()).pod;
    expect(from).toEqual({ image, anew });
    expect(anew).toMatchObject({ spec, metadata: { annotations: { [runHashAnnotation]: runHash } } });
  });

  it("goes on from no memory whose images are unknown", () => {
    for (const containerImages of [[], [{ name: "other", image: busybox }]]) {
      const { pod: next, unusable } = nextPodOf(sandboxOf(), pod(), seen(captured({ spec: { containerImages } })));
      expect(next.spec).toEqual(spec);
      expect(unusable).toMatchObject([{ why: "ContainerImageUnknown" }]);
    }
  });

  it("goes on from none of several memories", () => {
    const other = captured({ spec: { podUID: "pod-0" } });
    const { pod: next, unusable } = nextPodOf(sandboxOf(), pod(), seen(captured(), other));
    expect(next.metadata.annotations).not.toHaveProperty([memoryImageAnnotation]);
    expect(unusable.map(({ why }) => why)).toEqual(["SeveralImages", "SeveralImages"]);
  });

  it("goes on from nothing that was not captured", () => {
    const failed = anImage({ spec: { stage: "Capture" }, status: { phase: "Failed" } });
    expect(nextPodOf(sandboxOf(), pod(), seen(failed, anImage()))).toEqual({
      pod: { ...pod(), metadata: { ...pod().metadata, annotations: { [runHashAnnotation]: runHash } } },
      unusable: [],
    });
  });
});

it("memory is given up with the reason that the sandbox is not to hibernate any more", () => {
  const sandbox = aSandbox({}, {}, { hibernation: asleep });
  expect(nextPodOf(sandbox, pod(), seen(captured())).unusable).toMatchObject([{ why: "StrategyChanged" }]);
});

it("the Pod of a sandbox without the strategy, or without node agents, is as it was made", () => {
  const made = pod();
  expect(nextPodOf(aSandbox(), made, seen()).pod).toBe(made);
  expect(nextPodOf(sandboxOf(), made, undefined).pod).toBe(made);
});

it("the loss of memory has the reason for which it was given up", () => {
  const annotations = { "hibernation.rouse.dev/given-up": "NotScheduled" };
  expect(lossOf(seen(captured({ metadata: { annotations } })))).toBe("NotScheduled");
  expect(lossOf(seen())).toBe("ImageLost");
  expect(lossOf(undefined)).toBe("NoProvider");
});

const aWaitingPod = (status: PodStatus = {}, nodeName = "node-1"): Pod => ({
  metadata: { name: "nova", uid: "pod-2", annotations: { [memoryImageAnnotation]: "pod-pod-1" } },
  spec: { containers: [], ...(nodeName && { nodeName }) },
  status,
});
const containerOf = (status: Partial<ContainerStatus>): ContainerStatus => ({
  ...{ name: "main", ready: false, restartCount: 0, image: "", imageID: "" },
  ...status,
});
const waitOf = (pod: Pod, status: ImageParts["status"] = {}) => restoreWaitOf(pod, [aCapturedImage({ status })])?.for;
const creating = containerOf({ state: { waiting: { reason: "ContainerCreating" } } });

it("a Pod on its node waits for its start until one of its containers has run", () => {
  for (const status of [{}, { phase: "Pending" }, { phase: "Pending", containerStatuses: [creating] }] as const) {
    expect(waitOf(aWaitingPod(status))).toBe("start");
  }
  for (const ran of [{ containerID: "c://1" }, { restartCount: 1 }, { state: { running: {} } }]) {
    const containerStatuses = [creating, containerOf(ran)];
    expect(waitOf(aWaitingPod({ phase: "Pending", containerStatuses }))).toBeUndefined();
  }
  for (const phase of ["Running", "Failed", "Succeeded"] as const)
    expect(waitOf(aWaitingPod({ phase }))).toBeUndefined();
});

it("a Pod waits for nothing once its node has said what it got, but for an image that it lacks", () => {
  const lacking = aWaitingPod({ containerStatuses: [containerOf({ state: { waiting: { reason: "ErrImagePull" } } })] });
  const refused = { refused: { podUID: "pod-2", reason: "NoPublicKey" } };
  expect([waitOf(aWaitingPod(), refused), waitOf(lacking, refused)]).toEqual([undefined, "image"]);
  const restored = { restore: { podUID: "pod-2", outcome: "Restored" } } as const;
  expect([waitOf(aWaitingPod(), restored), waitOf(lacking, restored)]).toEqual([undefined, undefined]);
  const another = { restore: { podUID: "pod-3", outcome: "Restored" } } as const;
  expect(waitOf(aWaitingPod(), another)).toBe("start");
});

it("a Pod that goes, or that asks for no memory, waits for none", () => {
  const { metadata, ...rest } = aWaitingPod();
  expect(waitOf({ ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })).toBeUndefined();
  expect(waitOf({ ...rest, metadata: { name: "nova", uid: "pod-2" } })).toBeUndefined();
});
