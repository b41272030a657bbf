import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { AgentMetrics } from "./agent-metrics.ts";
import { capture } from "./capture/capture.ts";
import { CaptureFailed } from "./capture/capture-failed.ts";
import { captureLimitMs, isTooLate } from "./capture/capture-limit.ts";
import { explainCause } from "./capture/explain-cause.ts";
import { giveUpOrEnd, noteFailed } from "./capture/give-up.ts";
import { watchLateWrite } from "./capture/late-writes.ts";
import type { Thaws } from "./capture/thaws.ts";
import type { Writers } from "./capture/writers.ts";
import type { Step } from "./decide/decide.ts";
import { excessOf, type Written } from "./decide/excess.ts";
import { isEnding, isGivenUp, type Observed, type StoreLimits } from "./decide/observed.ts";
import { fullMessages, imageBytesOf } from "./decide/refusal.ts";
import type { Doors } from "./doors/doors.ts";
import type { PodSandbox } from "./doors/sandboxes.ts";
import type { View } from "./observe.ts";
import type { Rooms } from "./rooms.ts";
import { textOf } from "./store/image-key.ts";
import type { StoreIdentity } from "./store/store-file.ts";

export interface ApplyParts {
  readonly doors: Doors;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
  readonly thaws: Thaws;
  readonly writers: Writers;
  readonly rooms: Pick<Rooms, "promises">;
  readonly view: View;
  readonly limits: StoreLimits;
  readonly storeRoot: string;
  readonly identity: StoreIdentity;
  /** What the API has of a Pod now: the view may be behind. Rejects if the API does not answer. */
  readonly readPod: (name: { readonly namespace: string; readonly name: string }) => Promise<Stored<Pod> | undefined>;
}

/** runsc takes 15 ms to let a Pod go on, unless gVisor still writes its memory. A worker waits no longer. */
const thawLimitMs = 10_000;

/** Takes one step on the node. Returns why a capture has failed that has no record, so that the API can be told at once. */
export async function apply(step: Step, observed: Observed, parts: ApplyParts): Promise<CaptureFailed | undefined> {
  const { key, podUID = "" } = observed;
  parts.log.debug({ image: textOf(key), pod: podUID, step }, "taking a step");
  if (step === "capture") return captureOrGiveUp(observed, parts);
  if (step === "give-up") return giveUpInterrupted(observed, parts);
  await takeOther(step, observed, parts);
  return undefined;
}

async function takeOther(step: Exclude<Step, "capture" | "give-up">, observed: Observed, parts: ApplyParts) {
  const { key, podUID = "", sandbox, tombstone, user } = observed;
  const { records, store } = parts.doors;
  switch (step) {
    case "remove-tombstone":
      return await records.removeTombstone(podUID);
    case "thaw":
      return await thaw(observed, sandbox, parts);
    case "remove-failed":
      return await records.removeFailed(podUID);
    case "finalize":
      return tombstone && (await records.finalize(tombstone, store.finalTombstoneOf(key)));
    case "end-sentry":
      parts.log.info({ image: textOf(key), pod: podUID }, "ending the sentry of a Pod");
      return sandbox && (await endSentry(sandbox, observed, parts));
    case "end-user-sentry":
      return await endUserSentry(observed, parts);
    case "use-up":
      return await store.useUp(key);
    case "mark-anew":
      return await store.markAnew(key, user?.metadata.uid ?? "");
    case "remove-image":
      return await store.removeImage(key);
    case "remove-marks":
      return await store.removeMarks(key);
  }
}

/** What it does is written down before: another agent must not take the Pod for one that runs. */
async function endSentry(sandbox: PodSandbox, { failed }: Observed, { doors }: ApplyParts): Promise<void> {
  if (failed && !failed.isEnding) await noteFailed({ ...failed, isEnding: true }, doors);
  await doors.sandboxes.end(sandbox);
}

/**
 * A Pod that is not called paused may be frozen all the same: runsc tells gVisor first, and may have ended with the former agent. Nobody
 * knows, so it ends like a freeze that hung.
 */
async function giveUpInterrupted(observed: Observed, parts: ApplyParts): Promise<CaptureFailed | undefined> {
  const { key, memoryImage, podUID = "", sandbox } = observed;
  const { doors, log, metrics } = parts;
  if (sandbox?.sentry && !sandbox.isPaused) {
    log.warn({ image: textOf(key), pod: podUID }, "it is unknown whether this Pod was frozen; ending its sentry");
    await doors.sandboxes.end(sandbox);
  }
  const failure = new CaptureFailed("Interrupted", "the node agent was restarted");
  const isTold = !memoryImage || memoryImage.status?.phase === "Failed";
  if (!isTold) metrics.captureFailed(failure.reason);
  const { message, reason } = failure;
  if (await giveUpOrEnd({ ...key, podUID, reason, message }, sandbox, doors)) return undefined;
  if (isTold) throw new Error("the store takes no new file, so what is left of a failed capture stays");
  return failure;
}

/** A Pod that the watch does not show may be one that it does not show yet. */
async function endUserSentry({ disk, holder, key, userSandbox }: Observed, parts: ApplyParts): Promise<void> {
  const uid = disk.marks.find(({ name }) => name === "")?.pod ?? "";
  const now = holder ? undefined : await parts.readPod({ namespace: key.namespace, name: key.pod });
  if (now && (uid === "" || now.metadata.uid === uid)) {
    throw new Error(`the API still has the Pod ${now.metadata.uid}, which the watch does not show yet`);
  }
  parts.log.info(
    { image: textOf(key) },
    "ending the sentry of a Pod that is being deleted or is gone: its memory was not restored, or only in part",
  );
  if (userSandbox) await parts.doors.sandboxes.end(userSandbox);
}

/** Only a look at the promise is made for a capture that keeps it. */
async function findExcess(written: Written, parts: ApplyParts): Promise<CaptureFailed | undefined> {
  if (written.bytes <= written.promisedBytes) return undefined;
  const { doors, limits, rooms, storeRoot } = parts;
  const freeBytes = await doors.files.freeBytes(storeRoot);
  const sizes = await doors.store.sizes.all();
  const reason = excessOf(written, { sizes, promises: rooms.promises(), freeBytes, limits });
  return reason && new CaptureFailed(reason, fullMessages[reason]);
}

/** If a capture fails, its image is removed and the Pod is marked for the thaw, which is the next step. Without a tombstone, nothing was begun. */
async function captureOrGiveUp(observed: Observed, parts: ApplyParts): Promise<CaptureFailed | undefined> {
  const { doors, limits, log, metrics, readPod, storeRoot, view } = parts;
  const { key, memoryImage, podUID = "", sandbox } = observed;
  if (!memoryImage || !sandbox) return undefined;
  const promisedBytes = imageBytesOf(observed);
  const writer = { promisedBytes, writtenBytes: () => doors.store.partBytes(key) };
  using _writing = parts.writers.add(writer);
  const bounds = {
    writtenBytes: writer.writtenBytes,
    whyToEnd: () => parts.writers.whyToEnd(writer),
    excessOf: (bytes: number) => findExcess({ key, bytes, promisedBytes }, parts),
    limitMs: captureLimitMs(memoryImage, observed.askedForMs),
    ...{ storeRoot, minFreeBytes: limits.minFreeBytes },
    isDeleted: () => isEnding(view.podByUid(podUID)),
    isGivenUp: () => {
      const now = view.memoryImage(key);
      return now?.metadata.uid !== memoryImage.metadata.uid || isGivenUp(now);
    },
    isDeletedNow: async () => {
      const now = await readPod({ namespace: key.namespace, name: key.pod });
      return isEnding(now) || now?.metadata.uid !== podUID;
    },
  };
  try {
    if (isTooLate(memoryImage, observed.askedForMs)) {
      throw new CaptureFailed("DeadlineExceeded", "other captures of this node have taken its time");
    }
    const { bytes, durations } = await capture({ key, podUID, sandbox, of: memoryImage.spec, ...bounds }, doors);
    metrics.captured(bytes, durations);
    log.info({ image: textOf(key), pod: podUID, bytes, ...durations }, "captured the memory of a Pod");
    return undefined;
  } catch (error) {
    const tombstone = await doors.records.tombstoneOf(podUID);
    // Another image of the same Pod came first: its files and its tombstone stay.
    if (tombstone && textOf(tombstone) !== textOf(key)) throw error;
    const message = explainCause(error);
    const failure = new CaptureFailed(error instanceof CaptureFailed ? error.reason : "CheckpointFailed", message);
    const { reason } = failure;
    metrics.captureFailed(reason);
    log.warn(
      { err: error, image: textOf(key), pod: podUID, reason },
      "could not capture the memory of a Pod; there is no further attempt, and the Pod runs again or ends",
    );
    const hasRecord = tombstone && (await giveUpOrEnd({ ...key, podUID, reason, message }, sandbox, doors));
    return hasRecord ? undefined : failure;
  }
}

/** The order is written down before it is given: another agent must not repeat it. */
async function thaw(observed: Observed, sandbox: PodSandbox | undefined, parts: ApplyParts): Promise<void> {
  const { failed, key } = observed;
  if (!sandbox || !failed) return;
  const { doors, log, thaws } = parts;
  const thawing = { ...failed, isThawing: true };
  if (!(await noteFailed(thawing, doors))) return await doors.sandboxes.end(sandbox);
  const { promise: lateAnswer, resolve } = Promise.withResolvers<"late">();
  using _timer = doors.clock.after(thawLimitMs, () => resolve("late"));
  const thawed = thaws.start(sandbox.id);
  const end = async () => {
    log.warn(
      { image: textOf(key) },
      "gVisor still writes the memory of a failed capture, and the disk is full; ending the sentry of the Pod",
    );
    await endSentry(sandbox, { ...observed, failed: thawing }, parts);
  };
  const disk = { storeRoot: parts.storeRoot, minFreeBytes: parts.limits.minFreeBytes };
  const late = {
    promisedBytes: imageBytesOf(observed),
    writtenBytes: () => doors.sandboxes.writtenBytesOf(sandbox, `/${textOf(key)}.part/`),
  };
  void watchLateWrite(thawed, { ...doors, ...disk, ...late, end }).catch((error: unknown) => {
    log.warn(
      { err: error, image: textOf(key) },
      "cannot watch the disk while gVisor writes; nothing watches the disk until the Pod runs again",
    );
  });
  const is = await Promise.race([lateAnswer, thawed]);
  if (is === "late") log.warn({ image: textOf(key) }, "gVisor has not thawed a Pod yet; still waiting");
  else log.info({ image: textOf(key) }, "the Pod of a failed capture runs again");
}
