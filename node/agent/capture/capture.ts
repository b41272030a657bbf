import { join } from "node:path";
import type { MemoryImageSpec } from "../../../api/kinds/memory-image.ts";
import type { Doors } from "../doors/doors.ts";
import type { Files } from "../doors/files.ts";
import { RunscFailed } from "../doors/runsc.ts";
import type { PodSandbox } from "../doors/sandboxes.ts";
import type { ImageKey } from "../store/image-key.ts";
import type { CaptureDurations, Description } from "../store/image-store.ts";
import type { Tombstone } from "../store/records.ts";
import { Bounds, type BoundsOrder } from "./bounds.ts";
import { CaptureFailed, type FailureReason } from "./capture-failed.ts";
import { explainCause } from "./explain-cause.ts";
import { hashFiles } from "./hash-files.ts";

export interface CaptureOrder extends BoundsOrder {
  readonly key: ImageKey;
  readonly podUID: string;
  readonly sandbox: PodSandbox;
  /** Whether the API has the Pod as deleted at this moment. It rejects if the API does not answer. */
  readonly isDeletedNow: () => Promise<boolean>;
  /** Whose memory it is, and the controller's hash of what the Pod runs. */
  readonly of: Pick<MemoryImageSpec, "sandboxUID" | "runHash" | "containerImages">;
}

/**
 * Freezes a Pod and writes its memory to the disk. The Pod stays frozen. A tombstone comes before all else, and the name of
 * the image after all else: whatever ends the agent in between, what is on the disk says which of both was reached.
 *
 * A freeze that does not come to its end leaves a Pod of which nobody knows whether it runs, and a write that takes more than
 * it promised goes on in the sentry when runsc has ended. Both end with the sentry: the Pod is sealed, so it can only be deleted. A Pod whose write
 * keeps its promise on a disk that others have filled goes on, and gets SIGTERM.
 *
 * @throws CaptureFailed
 */
export async function capture(order: CaptureOrder, doors: Doors): Promise<Description> {
  const { key, podUID, sandbox } = order;
  await doors.records.createTombstone({ ...key, podUID, isFinal: false });
  using bounds = new Bounds(order, doors);
  try {
    return await writeImage(order, doors, bounds);
  } catch (error) {
    if (bounds.isFreezing && isCut(error)) await doors.sandboxes.end(sandbox);
    if (!bounds.signal.aborted) throw error;
    const failure = bounds.signal.reason as CaptureFailed;
    if (bounds.isFreezing || (bounds.isWriting && bounds.isBeyond)) await doors.sandboxes.end(sandbox);
    throw failure;
  }
}

async function writeImage(order: CaptureOrder, doors: Doors, bounds: Bounds): Promise<Description> {
  const { key, of, podUID, sandbox } = order;
  const { clock, files, runsc, store } = doors;
  const { signal } = bounds;
  const durations: { -readonly [K in keyof CaptureDurations]: number } = {
    freezeMs: 0,
    writeMs: 0,
    syncMs: 0,
    hashMs: 0,
  };
  const timed = async <T>(of: keyof CaptureDurations, reason: FailureReason, work: () => Promise<T>): Promise<T> => {
    const beganMs = clock.ticksMs();
    const result = await bounds.hold(work()).catch((cause: unknown) => {
      throw new CaptureFailed(isDiskFull(cause) ? "DiskFull" : reason, explainCause(cause), { cause });
    });
    bounds.check();
    durations[of] += Math.round(clock.ticksMs() - beganMs);
    return result;
  };
  await timed("freezeMs", "FreezeFailed", () => runsc.pause(sandbox.id, signal));
  bounds.isFreezing = false;
  await timed("freezeMs", "FreezeFailed", () => refuseToldToEnd(order, doors));
  const folder = await timed("writeMs", "CheckpointFailed", async () => {
    const part = await store.begin(key);
    bounds.isWriting = true;
    await runsc.checkpoint(sandbox.id, part, signal);
    return part;
  });
  bounds.isWriting = false;
  const names = [...(await files.list(folder))].sort();
  const [, facts] = await keepOnDisk({ folder, names, namespace: key.namespace, signal, timed }, doors);
  const description: Description = {
    // The file may have been replaced since the Pod was looked at.
    runsc: sandbox.runsc ?? (await runsc.version(signal)),
    containers: sandbox.containers,
    files: Object.fromEntries(facts),
    configs: sandbox.configs,
    sandboxUID: of.sandboxUID,
    runHash: of.runHash,
    podUID,
    bytes: [...facts.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    capturedAt: clock.now().toISOString(),
    durations,
  };
  const finalTombstone = JSON.stringify({ ...key, podUID, isFinal: true } satisfies Tombstone);
  await timed("syncMs", "CheckpointFailed", () => store.describe(key, description, finalTombstone));
  const excess = await bounds.hold(order.excessOf(description.bytes));
  if (excess) throw excess;
  // Not left half-way: an image must not get its name after the capture has failed.
  await store.complete(key).catch((cause: unknown) => {
    throw new CaptureFailed("CheckpointFailed", explainCause(cause), { cause });
  });
  return description;
}

interface Written {
  readonly folder: string;
  readonly names: readonly string[];
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly timed: <T>(of: keyof CaptureDurations, reason: FailureReason, work: () => Promise<T>) => Promise<T>;
}

/** At the same time: the disk writes what the processor reads from the page cache. */
async function keepOnDisk({ folder, names, namespace, signal, timed }: Written, { diskPlaces, files }: Doors) {
  const place = await diskPlaces.take(namespace, signal);
  const work = { syncing: syncFiles(folder, names, files), hashing: hashFiles(folder, names, signal) };
  // A disk that hangs keeps both of its threads, also when the capture has failed.
  void Promise.allSettled([work.syncing, work.hashing]).then(() => place[Symbol.dispose]());
  return await allEnded([
    timed("syncMs", "CheckpointFailed", () => work.syncing),
    timed("hashMs", "CheckpointFailed", () => work.hashing),
  ]);
}

async function syncFiles(folder: string, names: readonly string[], files: Files): Promise<void> {
  for (const name of names) await files.sync(join(folder, name));
}

/** As Promise.all, but rejects only when all have ended: until then they use the files. */
async function allEnded<T extends readonly Promise<unknown>[]>(work: readonly [...T]) {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/**
 * From the freeze on the shim refuses to end a container. What came before is in the memory: a signal, which the shim has noted, or a preStop hook
 * of a Pod whose deletion the watch has not shown yet.
 */
async function refuseToldToEnd({ isDeletedNow, of, podUID, sandbox }: CaptureOrder, doors: Doors): Promise<void> {
  const { records, sandboxes } = doors;
  const now = await sandboxes.withId(sandbox.id);
  const containers = [...sandbox.containerIds, ...(now?.containerIds ?? [])];
  if (await records.isKilled(podUID, containers))
    throw new Error("a container of the Pod was told to end before the Pod was frozen");
  if (wasRestarted(of, now?.containerIds ?? []))
    throw new Error("a container was restarted after its container image was recorded, and may run another one");
  if (await isDeletedNow()) throw new Error("the Pod was deleted before it was frozen");
}

/** Whether gVisor has other containers than those whose images the next Pod would name. An older controller does not tell their ids. */
function wasRestarted({ containerImages = [] }: CaptureOrder["of"], containerIds: readonly string[]): boolean {
  const recorded = containerImages.flatMap(({ containerID }) => containerID ?? []);
  const isKnown = recorded.length > 0 && recorded.length === containerImages.length;
  return isKnown && !(recorded.length === containerIds.length && recorded.every((id) => containerIds.includes(id)));
}

const isCut = (error: unknown): boolean =>
  error instanceof CaptureFailed && error.cause instanceof RunscFailed && error.cause.isCut;

/** runsc says it in its words, our own writes by the code. */
const isDiskFull = (cause: unknown): boolean =>
  cause instanceof Error &&
  ("code" in cause ? cause.code === "ENOSPC" : cause instanceof RunscFailed && cause.message.includes("no space left"));
