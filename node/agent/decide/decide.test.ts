import { describe, expect, it } from "vitest";
import type { MemoryImageStatus } from "../../../api/kinds/memory-image.ts";
import { runHashAnnotation } from "../../../api/rules/keys.ts";
import { imageOf, podOf } from "../../../test/support/labs/node-lab.ts";
import type { Mark, WholeImage } from "../store/image-store.ts";
import { conclude } from "./conclude.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./observed.ts";
import { refusalOf } from "./refusal.ts";
import { useOf } from "./use.ts";

const node = { nodeName: "node-1", namespace: "default" } as const;
const stored = {
  name: "g1",
  namespace: "default",
  uid: "i",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const podUID = "1f0f9a1e-0000-4000-8000-000000000002";
const userUID = "1f0f9a1e-0000-4000-8000-000000000003";
const key = { namespace: "default", pod: "guest", image: "g1" };

const asked = (stage: "Preflight" | "Capture", status: MemoryImageStatus = {}): Observed["memoryImage"] => ({
  ...imageOf(node, podUID, { stage }),
  metadata: stored,
  status,
});

const podWith = (uid: string, metadata: object = {}): NonNullable<Observed["pod"]> => {
  const pod = podOf(node, uid);
  return { ...pod, metadata: { ...stored, ...pod.metadata, name: "guest", uid, ...metadata } };
};

const image: WholeImage = {
  ...{ runsc: "v1", containers: ["main"], files: { "checkpoint.img": { bytes: 1, sha256: "0" } }, podUID, bytes: 1 },
  ...{ configs: { "": "0", main: "0" }, sandboxUID: "s", runHash: "h", imageHash: "0" },
  ...{ capturedAt: "2026-01-01T00:00:00Z", durations: { freezeMs: 1, writeMs: 1, syncMs: 1, hashMs: 1 } },
};

const mark = (name: string, outcome: Mark["outcome"], writtenMs = 1_000): Mark => ({
  ...{ name, pod: userUID, container: "s2", outcome, reason: "", beganMs: 400, writtenMs },
});

/** A Pod that runs in gVisor and can be captured. */
const usual: Observed = {
  ...{
    key,
    nodeName: "node-1",
    nowMs: 2_000,
    markedForMs: 0,
    podUID,
    isUserAlive: false,
    isKilled: false,
    isThawing: false,
    isCapturedElsewhere: false,
    hasPublicKeys: true,
    evictable: [],
  },
  ...{
    endingMs: 0,
    askedForMs: 0,
    holderEndingMs: 0,
    user: undefined,
    holder: undefined,
    userSandbox: undefined,
    tombstone: undefined,
    failed: undefined,
    runscVersion: "v1",
    memoryBytes: 1_000,
  },
  memoryImage: asked("Preflight"),
  pod: podWith(podUID),
  sandbox: {
    ...{ id: "s", sentry: 7, isPaused: false, isTorn: false, isOurs: true, containersAre: "" },
    ...{ containers: ["main"], containerIds: ["s-main"], configs: { "": "0", main: "1" } },
    ...{ gofers: [], memoryMount: "1", runsc: "v1", passed: { runHash: "h" } },
  },
  disk: { isPartial: false, image: undefined, marks: [], refused: undefined, hasLeftovers: false },
  store: { id: "store-1", replaces: ["store-0"] },
  room: { usedBytes: 0, freeBytes: 2 ** 40, byNamespace: new Map(), untakenBytes: 0 },
  trial: "Writable",
  limits: { maxStoreBytes: 0, minFreeBytes: 0, maxNamespacePercent: 100 },
};

const sandbox = usual.sandbox ?? expect.unreachable();

describe("a Pod that cannot be captured", () => {
  it.each<readonly [string, Partial<Observed>]>([
    ["InvalidName", { podUID: "../../etc" }],
    ["PodNotFound", { pod: undefined }],
    ["PodEnding", { pod: podWith(podUID, { deletionTimestamp: "2026-01-01T00:00:00Z" }) }],
    ["ForeignPod", { pod: podWith(podUID, { ownerReferences: [] }) }],
    ["ForeignPod", { nodeName: "node-2" }],
    ["ForeignPod", { pod: podWith(podUID, { namespace: "another" }) }],
    ["PodNotRunning", { pod: { ...podWith(podUID), status: { phase: "Pending" } } }],
    ["PodNotRunning", { sandbox: { ...sandbox, containers: ["main", "other"] } }],
    ["ShimTooOld", { sandbox: { ...sandbox, configs: { main: "1" } } }],
    ["ShimTooOld", { sandbox: { ...sandbox, configs: { "": "0" } } }],
    ["AnnotationsMissing", { sandbox: { ...sandbox, passed: {} } }],
    ["AnnotationsMissing", { pod: podWith(podUID, { annotations: { [runHashAnnotation]: "other" } }) }],
    ["AnnotationsMissing", { pod: podWith(podUID, { annotations: {} }), sandbox: { ...sandbox, passed: {} } }],
    ["ShimTooOld", { sandbox: { ...sandbox, memoryMount: undefined } }],
    ["NoPublicKey", { hasPublicKeys: false }],
    ["NotGvisor", { sandbox: undefined }],
    ["NotGvisor", { sandbox: { ...sandbox, sentry: undefined } }],
    ["StateUnreadable", { sandbox: { ...sandbox, isTorn: true } }],
    ["ForeignShim", { sandbox: { ...sandbox, isOurs: false } }],
    ["AlreadyCaptured", { isCapturedElsewhere: true }],
    ["RunscMissing", { runscVersion: undefined }],
    ["ShimTooOld", { sandbox: { ...sandbox, runsc: undefined } }],
    ["RunscReplaced", { runscVersion: "v2" }],
    ["StoreReadOnly", { trial: "ReadOnly" }],
    ["DiskFull", { trial: "Full" }],
    ["SizeUnknown", { memoryBytes: undefined }],
    ["StoreFull", { limits: { maxStoreBytes: 2 ** 20, minFreeBytes: 0, maxNamespacePercent: 100 } }],
    ["NamespaceFull", { limits: { maxStoreBytes: 2 ** 25, minFreeBytes: 0, maxNamespacePercent: 10 } }],
    ["DiskFull", { room: { usedBytes: 0, freeBytes: 2 ** 20, byNamespace: new Map(), untakenBytes: 0 } }],
  ])("is refused as %s", (reason, changes) => {
    expect(refusalOf(usual)).toBeUndefined();
    const observed = { ...usual, ...changes };
    expect(refusalOf(observed)?.reason).toBe(reason);
    const capturing = { ...observed, memoryImage: asked("Capture", { phase: "Capturing" }) };
    expect(decide(capturing)).toBeUndefined();
    expect(conclude(capturing)).toMatchObject({ phase: "Failed", reason });
  });
});

describe("a preflight", () => {
  it("has no answer for a Pod that starts, ends, or is not seen yet", () => {
    for (const pod of [undefined, podWith(podUID, { deletionTimestamp: "x" }), { ...podWith(podUID), status: {} }]) {
      expect(conclude({ ...usual, pod })).toBeUndefined();
    }
  });

  it("is told again only if its answer has changed", () => {
    expect(conclude(usual)).toEqual({ preflight: { capturable: true } });
    expect(
      conclude({ ...usual, memoryImage: asked("Preflight", { preflight: { capturable: true } }) }),
    ).toBeUndefined();
    const full = { limits: { maxStoreBytes: 1, minFreeBytes: 0, maxNamespacePercent: 100 } };
    expect(conclude({ ...usual, ...full })?.preflight).toMatchObject({ capturable: false, reason: "StoreFull" });
  });
});

describe("a capture", () => {
  it("begins only after the API was told", () => {
    expect(decide({ ...usual, memoryImage: asked("Capture") })).toBeUndefined();
    expect(conclude({ ...usual, memoryImage: asked("Capture") })).toEqual({ phase: "Capturing", storeID: "store-1" });
    expect(decide({ ...usual, memoryImage: asked("Capture", { phase: "Capturing" }) })).toBe("capture");
  });

  it("never begins after it has failed, or beside an earlier use of the name", () => {
    expect(decide({ ...usual, memoryImage: asked("Capture", { phase: "Failed" }) })).toBeUndefined();
    const used = { ...usual.disk, marks: [mark("", "restored")] };
    const memoryImage = asked("Capture", { phase: "Capturing" });
    expect(decide({ ...usual, memoryImage, disk: used })).toBeUndefined();
  });

  it("whose image is that of another Pod is not reported, and that image goes", () => {
    const disk = { ...usual.disk, image: { ...image, podUID: "another" } };
    expect(conclude({ ...usual, disk })).toEqual({ preflight: { capturable: true } });
    expect(decide({ ...usual, disk })).toBe("remove-image");
  });
});

describe("a Pod whose capture has failed", () => {
  const failed = { ...key, podUID, reason: "DeadlineExceeded", message: "" };
  const frozen = { ...usual, failed, sandbox: { ...sandbox, isPaused: true } };

  it("is thawed once, and nothing happens to it while gVisor has not answered", () => {
    expect(decide(frozen)).toBe("thaw");
    expect(decide({ ...frozen, failed: { ...failed, isThawing: true }, isThawing: true })).toBeUndefined();
  });

  it("ends if a thaw of it has been ordered and nobody waits for the answer", () => {
    expect(decide({ ...frozen, failed: { ...failed, isThawing: true } })).toBe("end-sentry");
  });

  it("ends if runsc was killed while it wrote the state file: nobody knows whether it is frozen", () => {
    expect(decide({ ...frozen, sandbox: { ...sandbox, isTorn: true } })).toBe("end-sentry");
  });

  it("ends if an agent was killed while it ended it, whatever the state file says by then", () => {
    const half = { ...frozen, sandbox: { ...sandbox, isPaused: false } };
    expect(decide({ ...half, failed: { ...failed, isThawing: true } })).not.toBe("end-sentry");
    expect(decide({ ...half, failed: { ...failed, isThawing: true, isEnding: true } })).toBe("end-sentry");
  });
});

describe("an image that the node has lost", () => {
  it("is told to be lost once, and once more what the Pod got that tried to use it", () => {
    const disk = { ...usual.disk, marks: [] };
    const gone = conclude({ ...usual, memoryImage: asked("Capture", { phase: "Captured" }), disk });
    expect(gone).toMatchObject({ phase: "Lost", reason: "ImageMissing" });
    const inStore = (storeID: string) =>
      conclude({ ...usual, memoryImage: asked("Capture", { phase: "Captured", storeID }) });
    for (const known of ["store-1", "store-0"]) expect(inStore(known)).toMatchObject({ phase: "Lost" });
    expect(inStore("store-2"), "a store whose disk is not mounted").toBeUndefined();
    const lost = { ...usual, memoryImage: asked("Capture", { ...gone }) };
    expect(conclude(lost)).toBeUndefined();
    const told = conclude({ ...lost, disk: { ...disk, marks: [mark("", "refused")] } });
    expect(told).toMatchObject({ phase: "Lost", restore: { podUID: userUID, outcome: "Refused" } });
    const again = {
      ...lost,
      memoryImage: asked("Capture", { ...told }),
      disk: { ...disk, marks: [mark("", "refused")] },
    };
    expect(conclude(again)).toBeUndefined();
  });
});

describe("an image that is evicted", () => {
  const evicted = asked("Capture", { phase: "Lost", reason: "Evicted" });
  const asleep = { ...usual, memoryImage: evicted, pod: undefined, sandbox: undefined, disk: { ...usual.disk, image } };
  const withMark = (made: Mark) => ({ ...asleep, disk: { ...asleep.disk, marks: [made] } });

  it("is used up before it goes", () => {
    expect(decide(asleep)).toBe("use-up");
    const usedUp = withMark({ ...mark("", "refused"), pod: "", container: "" });
    expect(useOf(usedUp)).toBeUndefined();
    expect(conclude(usedUp)).toBeUndefined();
    expect(decide(usedUp)).toBe("remove-image");
    expect(decide({ ...usedUp, memoryImage: undefined })).toBe("remove-image");
  });

  it("stays while a Pod that was faster is restored from it, until that is told", () => {
    const restoring = withMark(mark("", "restoring"));
    expect(decide(restoring)).toBeUndefined();
    const restored = withMark(mark("", "refused"));
    expect(decide(restored)).toBeUndefined();
    const told = conclude(restored);
    expect(told?.restore).toMatchObject({ podUID: userUID, outcome: "Refused" });
    expect(decide({ ...restored, memoryImage: asked("Capture", { ...told }) })).toBe("remove-image");
  });
});

describe("an image whose object is deleted, and kept by a finalizer", () => {
  const captured = asked("Capture", { phase: "Captured" }) ?? expect.unreachable();
  const memoryImage = { ...captured, metadata: { ...captured.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const asleep = { ...usual, memoryImage, pod: undefined, sandbox: undefined, disk: { ...usual.disk, image } };

  it("goes, unless a Pod uses it or may still ask for it", () => {
    expect(decide(asleep)).toBe("remove-image");
    expect(decide({ ...asleep, user: podWith(userUID) })).toBeUndefined();
    expect(decide({ ...asleep, disk: { ...asleep.disk, marks: [mark("", "restoring")] } })).toBeUndefined();
  });

  it("goes after its Pod is marked as one that stays frozen", () => {
    const tombstone = { ...key, podUID, isFinal: false };
    const frozen = { ...asleep, pod: usual.pod, sandbox: { ...sandbox, isPaused: true }, tombstone };
    expect(decide(frozen)).toBe("finalize");
    expect(decide({ ...frozen, tombstone: { ...tombstone, isFinal: true } })).toBe("remove-image");
  });
});

describe("a Pod that was refused", () => {
  it("is told, also if another Pod has used the image", () => {
    const refused = { pod: userUID, reason: "AlreadyUsed", message: "used" };
    const restore = { podUID: "another", outcome: "Restored" } as const;
    const over = { ...usual, memoryImage: asked("Capture", { phase: "Restored", restore }) };
    expect(conclude(over)).toBeUndefined();
    const told = conclude({ ...over, disk: { ...over.disk, refused } });
    expect(told).toMatchObject({ phase: "Restored", restore, refused: { podUID: userUID, reason: "AlreadyUsed" } });
    const again = { ...over, memoryImage: asked("Capture", { ...told }), disk: { ...over.disk, refused } };
    expect(conclude(again)).toBeUndefined();
  });
});

describe("a Pod that is being deleted", () => {
  it("loses its sentry 10 s after its grace, whatever keeps it", () => {
    const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 5 };
    const ending = { ...usual, pod: podWith(podUID, metadata) };
    expect(decide({ ...ending, endingMs: 15_000 })).toBeUndefined();
    expect(decide({ ...ending, endingMs: 15_001 })).toBe("end-sentry");
    expect(decide({ ...ending, endingMs: 15_001, sandbox: { ...sandbox, sentry: undefined } })).toBeUndefined();
  });
});

describe("a use of an image", () => {
  const asking = { ...usual, pod: undefined, sandbox: undefined, user: podWith(userUID) };
  const withMarks = (...marks: readonly Mark[]): Observed => ({ ...asking, disk: { ...usual.disk, image, marks } });

  it("takes from the first mark to the last, of all containers", () => {
    expect(useOf(withMarks(mark("", "restored")))).toBeUndefined();
    const whole = withMarks(mark("", "restored"), mark("main", "restored", 1_250));
    expect(useOf(whole)).toMatchObject({ outcome: "Restored", podUID: userUID, durationMs: 850 });
  });

  it("that has not changed for 60 s counts as failed if gVisor does not have its sandbox", () => {
    const restoring = withMarks(mark("", "restoring"));
    const later = { ...restoring, markedForMs: 61_000 };
    expect(useOf({ ...restoring, markedForMs: 60_000 })).toBeUndefined();
    expect(useOf({ ...later, userSandbox: sandbox })).toBeUndefined();
    expect(useOf(later)).toMatchObject({ outcome: "Failed", reason: "RestoreInterrupted" });
    expect(decide(later)).toBeUndefined();
    expect(decide({ ...later, memoryImage: undefined })).toBe("remove-image");
  });

  it("is not over because the watch does not show its Pod, or shows that it is being deleted", () => {
    const restoring = { ...withMarks(mark("", "restoring")), userSandbox: sandbox };
    expect(useOf({ ...restoring, user: undefined })).toBeUndefined();
    expect(decide({ ...restoring, user: undefined, memoryImage: undefined })).toBeUndefined();
    const ending = { ...restoring, user: podWith(userUID, { deletionTimestamp: "x" }) };
    expect(useOf(ending)).toBeUndefined();
    expect(useOf({ ...ending, userSandbox: undefined })).toMatchObject({ reason: "RestoreInterrupted" });
  });

  it("by a Pod that is half restored ends with its deletion, whatever its grace: nothing runs in it", () => {
    const user = podWith(userUID, { deletionTimestamp: "x", deletionGracePeriodSeconds: 3_600 });
    const half = { ...withMarks(mark("", "restored")), user, holder: user, userSandbox: sandbox };
    expect(decide({ ...half, holderEndingMs: 0 })).toBeUndefined();
    expect(decide({ ...half, holderEndingMs: 1 })).toBe("end-user-sentry");
  });

  it("whose last restore has begun may run already, and ends 10 s after the grace of its Pod", () => {
    const user = podWith(userUID, { deletionTimestamp: "x", deletionGracePeriodSeconds: 5 });
    const last = withMarks(mark("", "restored"), mark("main", "restoring"));
    const begun = { ...last, user, holder: user, userSandbox: sandbox };
    expect(decide({ ...begun, holderEndingMs: 15_000 })).toBeUndefined();
    expect(decide({ ...begun, holderEndingMs: 15_001 })).toBe("end-user-sentry");
    const marks = [mark("", "restored"), mark("main", "restored")];
    expect(decide({ ...begun, disk: { ...begun.disk, marks }, holderEndingMs: 15_001 })).toBeUndefined();
  });

  it("by a Pod that is being deleted and was refused, so that it runs anew, ends 10 s after its grace", () => {
    const user = podWith(userUID, { deletionTimestamp: "x", deletionGracePeriodSeconds: 5 });
    const anew = { ...withMarks(mark("", "refused")), user, holder: user, userSandbox: sandbox };
    expect(useOf(anew)).toMatchObject({ outcome: "Refused" });
    expect(decide({ ...anew, holderEndingMs: 15_000 })).not.toBe("end-user-sentry");
    expect(decide({ ...anew, holderEndingMs: 15_001 })).toBe("end-user-sentry");
    const gone = { ...anew, user: undefined, holder: undefined };
    expect(decide({ ...gone, holderEndingMs: 60_000 }), "its grace is not known").not.toBe("end-user-sentry");
  });

  it("is told before its image goes, also if nothing tells for which Pod it was", () => {
    const memoryImage = asked("Capture", { phase: "Captured" });
    const observed = {
      ...withMarks({ ...mark("", "restoring"), pod: "" }),
      memoryImage,
      user: undefined,
      markedForMs: 61_000,
    };
    expect(decide(observed)).toBeUndefined();
    const told = conclude(observed);
    expect(told).toMatchObject({ phase: "Lost", reason: "RestoreInterrupted" });
    expect(told).not.toHaveProperty("restore");
    const after = { ...observed, memoryImage: asked("Capture", { ...told }) };
    expect(conclude(after)).toBeUndefined();
    expect(decide(after)).toBe("remove-image");
  });

  it("does not happen as long as the Pod that asks has not begun, and the image stays", () => {
    expect(useOf(withMarks())).toBeUndefined();
    expect(decide({ ...withMarks(), memoryImage: undefined })).toBeUndefined();
    expect(decide({ ...withMarks(), memoryImage: undefined, user: undefined })).toBe("remove-image");
  });
});
