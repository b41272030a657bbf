import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Hibernation, Sandbox } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { isEvicted } from "../../../api/rules/evicted-memory.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import { captureFailure, captureOf } from "../../suspension/hibernation/capture-state.ts";
import {
  givenUp,
  holdsMemory,
  imageOfPod,
  isUntoldLoss,
  restoredFrom,
  restoreOf,
  usedBy,
} from "../../suspension/hibernation/images.ts";
import type { MemoryRefusal, SeenImages } from "../../suspension/hibernation/memory-provider.ts";
import { type LossReason, lossOf } from "../../suspension/hibernation/restore.ts";
import { isToHibernate } from "../../suspension/hibernation/strategy.ts";
import type { SeenPod } from "./condition-facts.ts";

/** What is known about the memory of a sandbox. */
export interface SeenMemory {
  readonly sandbox: Stored<Sandbox>;
  readonly pod: SeenPod;
  /** Undefined: it could be kept. */
  readonly refusal: MemoryRefusal | undefined;
  /** Absent: nothing captures memory here. */
  readonly memory?: SeenImages | undefined;
}

/**
 * What the status tells about the memory; undefined for a sandbox that is not to hibernate, and has no memory. It follows from the status before and
 * from what is seen now, so a controller that takes over in the middle tells the same.
 */
export function hibernationOf(seen: SeenMemory): Hibernation | undefined {
  const { sandbox } = seen;
  const before = sandbox.status?.hibernation;
  if (!isToHibernate(sandbox.spec)) return withoutStrategy(seen, before);
  const captured = capturedImage(seen);
  if (captured) return hibernated(seen, captured);
  if (isLosingProcesses(seen)) return before?.state && before.state !== "Restoring" ? before : asleep(seen);
  if (hasNewLife(seen)) return before?.state === "Stopped" ? awake(before) : woken(seen, before);
  return before?.state === "Hibernated" && hasLostMemory(seen) ? stopped(seen, lossOfSleep(seen)) : before;
}

/** The memory of the Pod that is still there, and never runs again. Before the Pod is deleted the status tells of it. */
function capturedImage({ pod, memory }: SeenMemory): Stored<MemoryImage> | undefined {
  const uid = pod.is === "owned" ? pod.pod.metadata.uid : undefined;
  const image = memory && uid !== undefined ? imageOfPod(memory.images, uid) : undefined;
  return image && holdsMemory(image) ? image : undefined;
}

const strategyChanged: MemoryRefusal = {
  reason: "StrategyChanged",
  message: "the controller removes the memory, because suspensionStrategy.type is no longer Hibernate",
};

/** What becomes of memory that was kept before the strategy was edited, until the next suspension. */
function withoutStrategy(seen: SeenMemory, before: Hibernation = {}): Hibernation | undefined {
  const { state, reason, lastWake } = before;
  const isAwake = hasNewLife(seen);
  if (state === "Hibernated" || state === "Restoring") {
    if (isAwake) return woken(seen, before);
    return effectiveOperatingMode(seen.sandbox.spec) === "Suspended" ? stopped(seen, strategyChanged) : before;
  }
  if (state === "Stopped") return reason !== strategyChanged.reason ? undefined : isAwake ? awake(before) : before;
  return lastWake?.reason === strategyChanged.reason && !isLosingProcesses(seen) ? before : undefined;
}

/** A Pod that goes takes the memory with it that was not captured before. */
function isLosingProcesses({ sandbox, pod }: SeenMemory): boolean {
  if (pod.is === "owned") {
    const { uid, deletionTimestamp } = pod.pod.metadata;
    const isSuspended = effectiveOperatingMode(sandbox.spec) === "Suspended";
    return sealOf(sandbox)?.podUid === uid || (isSuspended && deletionTimestamp !== undefined);
  }
  if (pod.is !== "none" || effectiveOperatingMode(sandbox.spec) === "Running") return false;
  // A sandbox that was created suspended, or got its strategy while it was, has had no memory to keep.
  return findCondition(sandbox.status?.conditions, "Suspended")?.status === "False";
}

type LivePod = Extract<SeenPod, { is: "owned" }>;

function hasNewLife(seen: SeenMemory): seen is SeenMemory & { readonly pod: LivePod } {
  const { sandbox, pod } = seen;
  if (pod.is !== "owned" || effectiveOperatingMode(sandbox.spec) !== "Running") return false;
  return sealOf(sandbox) === undefined && pod.pod.metadata.deletionTimestamp === undefined;
}

const notCaptured: MemoryRefusal = { reason: "NotCaptured", message: "the memory was not captured" };
const noImage: MemoryRefusal = {
  reason: "ImageLost",
  message: "the MemoryImage was deleted, and not by the controller",
};
const gaveUp: MemoryRefusal = {
  reason: "ImageLost",
  message: "the controller had already given the memory up",
};
const used: MemoryRefusal = {
  reason: "ImageLost",
  message: "the Pod created to restore the memory is gone, and it is unknown whether it received the memory",
};

const lossesOfSleep: ReadonlySet<unknown> = new Set(["ImageLost", "Evicted"]);

/** How the memory was lost during the sleep: the node says so, or somebody has deleted the MemoryImage. */
const lossOfSleep = ({ memory }: SeenMemory): MemoryRefusal =>
  memory?.images.map(captureFailure).find((failure) => lossesOfSleep.has(failure?.reason)) ??
  (memory?.images.some((image) => givenUp(image) !== undefined) ? gaveUp : undefined) ??
  (memory?.images.some(holdsMemory) ? used : noImage);

/** Undefined while the capture is still to come. */
function asleep(seen: SeenMemory): Hibernation | undefined {
  const { sandbox, pod, memory, refusal } = seen;
  const uid = pod.is === "owned" ? pod.pod.metadata.uid : sealOf(sandbox)?.podUid;
  const image = memory && (uid === undefined ? memory.images.find(holdsMemory) : imageOfPod(memory.images, uid));
  if (!image) return stopped(seen, refusal);
  if (holdsMemory(image)) return hibernated(seen, image);
  if (pod.is === "owned" && isStillToCome(seen, image)) return sandbox.status?.hibernation;
  return stopped(seen, captureFailure(image) ?? refusal);
}

function isStillToCome({ pod, memory, refusal }: SeenMemory, image: MemoryImage): boolean {
  if (pod.is !== "owned" || pod.pod.metadata.deletionTimestamp) return false;
  const { is } = captureOf(memory, image.spec.podUID, refusal);
  return is === "due" || is === "underWay";
}

function withLastWake({ sandbox, memory }: SeenMemory): Pick<Hibernation, "lastWake"> {
  const { state, lastWake } = sandbox.status?.hibernation ?? {};
  const told = state === "Restoring" ? (verdictOf(memory)?.lastWake ?? lastWake) : lastWake;
  return told ? { lastWake: told } : {};
}

function hibernated(seen: SeenMemory, { spec, status = {} }: MemoryImage): Hibernation {
  const { bytes, capturedAt, durations = {} } = status;
  const { freezeMs = 0, writeMs = 0, syncMs = 0, hashMs = 0 } = durations;
  return {
    state: "Hibernated",
    node: spec.nodeName,
    ...(bytes !== undefined && { bytes }),
    ...(capturedAt !== undefined && { capturedAt }),
    // The files are synced and hashed at the same time.
    ...(status.durations && { durationMilliseconds: freezeMs + writeMs + Math.max(syncMs, hashMs) }),
    ...withLastWake(seen),
  };
}

const stopped = (seen: SeenMemory, { reason, message }: MemoryRefusal = notCaptured): Hibernation => ({
  ...{ state: "Stopped", reason, message },
  ...withLastWake(seen),
});

/** While it sleeps, the only image that holds memory is its own. */
const hasLostMemory = ({ sandbox, pod, memory }: SeenMemory): boolean =>
  memory !== undefined &&
  pod.is === "none" &&
  effectiveOperatingMode(sandbox.spec) === "Suspended" &&
  !memory.images.some((image) => holdsMemory(image) && usedBy(image) === undefined);

const awake = ({ reason }: Hibernation): Hibernation => ({ lastWake: { mode: "Anew", ...(reason && { reason }) } });

/** `podUID`: of the Pod that has asked for memory; absent: none has. */
const anew = (reason: LossReason, podUID?: string): Hibernation => ({
  lastWake: { mode: "Anew", ...(podUID && { podUID }), reason },
});

type Restore = NonNullable<ReturnType<typeof restoreOf>>;

function wakeFrom({ durationMs, outcome, podUID }: Restore): Hibernation {
  if (outcome !== "Restored") return anew(outcome === "Refused" ? "RestoreRefused" : "RestoreFailed", podUID);
  const took = durationMs === undefined ? {} : { durationMilliseconds: durationMs };
  return { lastWake: { mode: "Restored", podUID, ...took } };
}

/** What the node says of a restore into whatever Pod. */
function verdictOf(memory: SeenImages | undefined): Hibernation | undefined {
  const restore = memory?.images.flatMap(({ status }) => status?.restore ?? []).at(0);
  return restore && wakeFrom(restore);
}

/**
 * What a running sandbox got of memory that was kept. As long as the node has not said it, the state stays. The Pod that has asked may have
 * ended since: what the node says of it is told all the same, and else that the Pod of now has no memory.
 */
function woken(seen: SeenMemory & { readonly pod: LivePod }, before: Hibernation | undefined): Hibernation | undefined {
  const { memory } = seen;
  const { metadata, spec } = seen.pod.pod;
  const image = imageAskedFor(seen.pod.pod, memory);
  if (memory?.images.some((one) => isUntoldLoss(one, before, metadata.uid))) return anew("NotRecorded", metadata.uid);
  if (before?.state === undefined && (before?.lastWake || !image)) return before;
  const hasAsked = restoredFrom(metadata) !== undefined && image !== undefined;
  const restore = image && restoreOf(image, metadata.uid ?? "");
  // Its node has made room while the Pod was made, so the Pod found no image.
  if (restore?.outcome === "Refused" && image && isEvicted(image)) return anew("Evicted", restore.podUID);
  if (restore) return wakeFrom(restore);
  if (!hasAsked && before?.state === "Restoring") return verdictOf(memory) ?? anew(lossOf(memory));
  const isAsking = restoredFrom(metadata) !== undefined;
  if (!hasAsked && !isAsking) return anew(lossOf(memory));
  if (!hasAsked && spec?.nodeName) return anew(lossOf(memory), metadata.uid);
  // Without a node the Pod may still be replaced, and the memory is where it was.
  return hasAsked && spec?.nodeName ? { ...before, state: "Restoring" } : before;
}

const imageAskedFor = ({ metadata }: Pod, memory: SeenImages | undefined): Stored<MemoryImage> | undefined =>
  memory?.images.find((image) => image.metadata.name === restoredFrom(metadata));
