import { join } from "node:path";
import type { Doors } from "../doors/doors.ts";
import { RunscFailed } from "../doors/runsc.ts";
import type { PodSandbox } from "../doors/sandboxes.ts";
import type { ImageKey } from "../store/image-key.ts";
import type { CaptureDurations, Description } from "../store/image-store.ts";
import { explainCause } from "./explain-cause.ts";
import { hashFiles } from "./hash-files.ts";

export interface CaptureOrder {
  readonly key: ImageKey;
  readonly podUID: string;
  readonly sandbox: PodSandbox;
  /** Milliseconds from the freeze to the whole image. */
  readonly limitMs: number;
}

export const failureReasons = [
  "FreezeFailed",
  "CheckpointFailed",
  "DiskFull",
  "DeadlineExceeded",
  "Interrupted",
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** There is no image, or it must not be used. The Pod may be frozen. */
export class CaptureFailed extends Error {
  override readonly name = "CaptureFailed";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * Freezes a Pod and writes its memory to the disk. The Pod stays frozen. A tombstone comes before all else, and the name of
 * the image after all else: whatever ends the agent in between, what is on the disk says which of both was reached.
 *
 * @throws CaptureFailed
 */
export async function capture(order: CaptureOrder, doors: Doors): Promise<Description> {
  const { key, podUID, limitMs } = order;
  const { clock, processes, records } = doors;
  await records.createTombstone({ ...key, podUID, isFinal: false });
  const deadlineMs = processes.uptimeMs() + limitMs;
  const late = new AbortController();
  using _timer = clock.after(limitMs, () => late.abort());
  // A machine that was suspended meanwhile has counted on, and its timers have not.
  const checkTime = () => {
    if (processes.uptimeMs() >= deadlineMs) late.abort();
    late.signal.throwIfAborted();
  };
  try {
    return await writeImage(order, doors, { signal: late.signal, checkTime });
  } catch (error) {
    if (late.signal.aborted) throw new CaptureFailed("DeadlineExceeded", `it took longer than ${limitMs} ms`);
    throw error;
  }
}

const neverAborted = new AbortController().signal;

interface Deadline {
  readonly signal: AbortSignal;
  readonly checkTime: () => void;
}

async function writeImage(order: CaptureOrder, doors: Doors, deadline: Deadline): Promise<Description> {
  const { key, podUID, sandbox } = order;
  const { clock, files, runsc, store } = doors;
  const { signal, checkTime } = deadline;
  const durations: { -readonly [K in keyof CaptureDurations]: number } = {
    freezeMs: 0,
    writeMs: 0,
    syncMs: 0,
    hashMs: 0,
  };
  const timed = async <T>(of: keyof CaptureDurations, reason: FailureReason, work: () => Promise<T>): Promise<T> => {
    const beganMs = clock.ticksMs();
    const result = await work().catch((cause: unknown) => {
      throw new CaptureFailed(isDiskFull(cause) ? "DiskFull" : reason, explainCause(cause), { cause });
    });
    checkTime();
    durations[of] += Math.round(clock.ticksMs() - beganMs);
    return result;
  };
  // Not cut off: a runsc that ends in between could leave a Pod that is frozen, and that its state file calls running.
  await timed("freezeMs", "FreezeFailed", () => runsc.pause(sandbox.id, neverAborted));
  const folder = await timed("writeMs", "CheckpointFailed", async () => {
    const part = await store.begin(key);
    await runsc.checkpoint(sandbox.id, part, signal);
    return part;
  });
  const names = [...(await files.list(folder))].sort();
  await timed("syncMs", "CheckpointFailed", async () => {
    for (const name of names) await files.sync(join(folder, name));
  });
  const imageHash = await timed("hashMs", "CheckpointFailed", () => hashFiles(folder, names, signal));
  const sizes = await Promise.all(names.map(async (name) => [name, await files.bytesOf(join(folder, name))] as const));
  const description: Description = {
    runsc: await runsc.version(signal),
    containers: sandbox.containers,
    files: Object.fromEntries(sizes),
    podUID,
    bytes: sizes.reduce((sum, [, bytes]) => sum + bytes, 0),
    imageHash,
    capturedAt: clock.now().toISOString(),
    durations,
  };
  await timed("syncMs", "CheckpointFailed", async () => {
    await store.describe(key, description);
    checkTime();
    await store.complete(key);
  });
  return description;
}

/** runsc says it in its words, our own writes by the code. */
const isDiskFull = (cause: unknown): boolean =>
  cause instanceof Error &&
  ("code" in cause ? cause.code === "ENOSPC" : cause instanceof RunscFailed && cause.message.includes("no space left"));
