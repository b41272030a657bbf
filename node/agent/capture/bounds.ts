import { onAbort } from "../../../lib/guard/on-abort.ts";
import type { Doors } from "../doors/doors.ts";
import { CaptureFailed } from "./capture-failed.ts";
import type { WhyToEnd } from "./writers.ts";

export interface BoundsOrder {
  /** Milliseconds from the freeze to the whole image. */
  readonly limitMs: number;
  /** The folder whose disk counts, and what must stay free on it. */
  readonly storeRoot: string;
  readonly minFreeBytes: number;
  /** Whether the Pod is being deleted. It ends a freeze, and nothing else. */
  readonly isDeleted: () => boolean;
  /** Whether the controller waits no more. It ends any part of the work. */
  readonly isGivenUp: () => boolean;
  /** Whether of all captures in progress this one ends if the disk is full, and why. */
  readonly whyToEnd: () => Promise<WhyToEnd | undefined>;
  /** How a capture fails that has written so much, which is more than it promised and than there is room for; undefined: there is. */
  readonly excessOf: (writtenBytes: number) => Promise<CaptureFailed | undefined>;
  /** What it has written by now. */
  readonly writtenBytes: () => Promise<number>;
}

/** How often the disk and the Pod are looked at. A fast disk takes 500 MB meanwhile. */
export const lookMs = 250;

/** What ends a capture that takes too long or too much, or that nobody waits for. */
export class Bounds implements Disposable {
  /** The Pod may be about to stop. */
  isFreezing = true;
  /** gVisor writes. */
  isWriting = false;
  /** Whether it has ended because it has written more than it promised. */
  isBeyond = false;
  readonly #order: BoundsOrder;
  readonly #doors: Pick<Doors, "clock" | "files" | "processes">;
  readonly #stop = new AbortController();
  readonly #over = new AbortController();
  readonly #deadlineMs: number;
  readonly #deadline: Disposable;

  constructor(order: BoundsOrder, doors: Pick<Doors, "clock" | "files" | "processes">) {
    this.#order = order;
    this.#doors = doors;
    this.#deadlineMs = doors.processes.uptimeMs() + order.limitMs;
    this.#deadline = doors.clock.after(order.limitMs, () => this.#endLate());
    void this.#watch();
  }

  /** Aborted with a CaptureFailed. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** A machine that was suspended meanwhile has counted on, and its timers have not. @throws CaptureFailed */
  check(): void {
    if (this.#doors.processes.uptimeMs() >= this.#deadlineMs) this.#endLate();
    this.#endGivenUp();
    this.signal.throwIfAborted();
  }

  /** Waits for one part of the work, but not beyond the bounds: nothing may hold a worker for ever. */
  async hold<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    using _leaving = onAbort(this.signal, () => reject(this.signal.reason));
    if (this.signal.aborted) reject(this.signal.reason);
    return await Promise.race([work, promise]);
  }

  [Symbol.dispose](): void {
    this.#over.abort();
    this.#deadline[Symbol.dispose]();
  }

  #endLate(): void {
    this.#stop.abort(new CaptureFailed("DeadlineExceeded", `the capture took longer than ${this.#order.limitMs} ms`));
  }

  #endGivenUp(): void {
    if (!this.#order.isGivenUp()) return;
    this.#stop.abort(
      new CaptureFailed("GivenUp", "the controller has given the capture up, or its MemoryImage is deleted"),
    );
  }

  /** Never rejects: an error that nobody waits for would end the agent, and with it the captures of all Pods. */
  async #watch(): Promise<void> {
    const { clock } = this.#doors;
    while (!this.#over.signal.aborted && !this.signal.aborted) {
      await clock.sleep(Math.min(lookMs, this.#order.limitMs), this.#over.signal).catch(() => {});
      if (!this.#over.signal.aborted) await this.#look().catch(() => this.#endFull("Other"));
    }
  }

  async #look(): Promise<void> {
    const { excessOf, isDeleted, minFreeBytes, storeRoot, whyToEnd, writtenBytes } = this.#order;
    if (this.isFreezing && isDeleted()) {
      this.#stop.abort(new CaptureFailed("FreezeFailed", "the Pod was deleted before it was frozen"));
    }
    this.#endGivenUp();
    const freeBytes = await this.#doors.files.freeBytes(storeRoot).catch(() => Number.POSITIVE_INFINITY);
    const why = freeBytes < minFreeBytes ? await whyToEnd() : undefined;
    if (why && !this.signal.aborted) this.#endFull(why);
    // What cannot be seen now is seen at the next look, or before the image gets its name.
    const excess = await writtenBytes()
      .then(excessOf, () => undefined)
      .catch(() => undefined);
    if (!excess || this.signal.aborted) return;
    this.isBeyond = true;
    this.#stop.abort(excess);
  }

  #endFull(of: WhyToEnd): void {
    this.isBeyond = of === "Beyond";
    const why = "the disk of this node has less left than --min-free-bytes and --min-free-percent ask for";
    this.#stop.abort(new CaptureFailed("DiskFull", why));
  }
}
