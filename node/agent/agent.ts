import type { MemoryImage, MemoryImageStatus } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { createdMs, readTime } from "../../api/rules/timestamps.ts";
import type { Outcome } from "../../lib/queues/workers.ts";
import { type ApplyParts, apply } from "./apply.ts";
import type { CaptureFailed } from "./capture/capture-failed.ts";
import { isTooLate } from "./capture/capture-limit.ts";
import { Thaws } from "./capture/thaws.ts";
import { Writers } from "./capture/writers.ts";
import { conclude, isOver, longestMessage } from "./decide/conclude.ts";
import { decide, holderEndsAfterMs, mayWaitForEver } from "./decide/decide.ts";
import { endedAfterMs, isEnding, isGivenUp, type Observed } from "./decide/observed.ts";
import { imageBytesOf, isRefusalReason, isShort, refusalOf, shortageOf, wantedOf } from "./decide/refusal.ts";
import { isUsedUp, useOf } from "./decide/use.ts";
import type { Evictable } from "./decide/victims.ts";
import { chooseUnused, findEvictable } from "./evict.ts";
import { observe } from "./observe.ts";
import { Rooms } from "./rooms.ts";
import { readKey, textOf } from "./store/image-key.ts";
import type { Mark } from "./store/image-store.ts";

export interface AgentParts extends Omit<ApplyParts, "thaws" | "writers" | "rooms"> {
  /** Writes a status to the API. Rejects if the object has changed since it was read. */
  readonly report: (image: Stored<MemoryImage>, status: MemoryImageStatus) => Promise<void>;
}

export interface Passed extends Outcome {
  readonly isCaptureDue?: boolean;
}

/** The sentry needs some milliseconds to end. */
const endingStepMs = 20;
/** A wake waits for the report of its restore. Until it has been there for a while, the marks are read often. */
const restoringMs = 100;
const slowRestoringMs = 2_000;
const slowAfterMs = 30_000;
/** A Pod that cannot be captured now may be soon, and nothing tells. */
const unfitMs = 5_000;
/** The controller deletes a captured Pod at once. */
const deletedWithinMs = 60_000;
/** The files of an image that goes are removed by its own pass. A disk that is in trouble may keep them. */
const evictingMs = 50;
const slowEvictingMs = 1_000;
const slowEvictingAfterMs = 5_000;
/** How often the agent looks whether gVisor has let a Pod go on. */
const thawingMs = 1_000;

/** Why a capture may have to wait until other images are gone. */
const roomReasons: readonly unknown[] = ["StoreFull", "DiskFull", "NamespaceFull"];

const evicted = {
  phase: "Lost",
  reason: "Evicted",
  message: "the node needed the room for another memory image",
} as const;

/** Brings one image after the other to where the API wants it, from what is on the node and in the API alone. */
export class Agent {
  readonly #parts: AgentParts & ApplyParts;
  readonly #rooms = new Rooms();
  /** When this agent saw first that a Pod of an image is being deleted. */
  readonly #endings = new Map<string, number>();
  /** When this agent saw first that a capture is asked for. */
  readonly #askedFor = new Map<string, { readonly uid: string; readonly sinceMs: number }>();
  /** The marks of an image, and when this agent saw them first. */
  readonly #marked = new Map<string, { readonly marks: string; readonly sinceMs: number }>();
  /** The captured Pods that are not deleted, with what was logged about them. */
  readonly #frozen = new Map<string, "seen" | "logged">();

  constructor(parts: AgentParts) {
    this.#parts = { ...parts, thaws: new Thaws(parts.doors.runsc), writers: new Writers(), rooms: this.#rooms };
  }

  frozenPods(): number {
    return this.#frozen.size;
  }

  /** Measures all images again: somebody else may have removed some. */
  async measureStore(): Promise<void> {
    const { doors, identity } = this.#parts;
    try {
      await doors.store.sizes.measureAgain();
      await doors.storeFile.check(identity);
    } catch (error) {
      doors.store.sizes.forget();
      throw error;
    }
  }

  /** One pass over an image: one step on the node, or if there is none, one report. Without `mayCapture` it leaves a capture to a later pass. */
  async pass(text: string, signal: AbortSignal, mayCapture = true): Promise<Passed> {
    const before = this.#rooms.promises();
    const own = {
      endingMs: this.#endingMs.bind(this, text),
      askedForMs: this.#askedForMs.bind(this, text),
      markedForMs: this.#markedForMs.bind(this, text),
    };
    const found = await observe(readKey(text), { ...this.#parts, ...own }, signal);
    if (!found.disk.image) this.#rooms.isGone(text);
    // From here to the promise of a capture nothing is waited for: captures that begin together must not see the same room.
    const beside = { ...found, room: this.#rooms.beside(text, found.room, before) };
    const observed = { ...beside, evictable: isShort(shortageOf(beside)) ? await this.#evictable(beside) : [] };
    const step = decide(observed);
    if (step === "capture" && !mayCapture) return { isCaptureDue: true };
    if (step) {
      await this.#apply(step, observed);
      return { requeueAfterMs: step === "end-sentry" || step === "end-user-sentry" ? endingStepMs : 0 };
    }
    if (await this.#makeRoom(observed)) {
      return { requeueAfterMs: observed.askedForMs < slowEvictingAfterMs ? evictingMs : slowEvictingMs };
    }
    await this.#conclude(observed);
    return { requeueAfterMs: this.#nextLookMs(observed) };
  }

  /** A capture without room does not begin in this pass, so this may take its time. */
  async #evictable({ key }: Pick<Observed, "key">): Promise<readonly Evictable[]> {
    const found = await findEvictable(key, this.#parts);
    await this.#parts.doors.storeFile.check(this.#parts.identity);
    return found;
  }

  async #apply(step: NonNullable<ReturnType<typeof decide>>, observed: Observed): Promise<void> {
    const text = textOf(observed.key);
    // A Pod of a failed capture may still be written until it runs again.
    if (step === "capture" || step === "thaw") this.#rooms.promise(text, imageBytesOf(observed));
    if (step === "capture") this.#rooms.take(imageBytesOf(observed));
    try {
      const untold = await apply(step, observed, this.#parts);
      if (untold) await this.#tellFailed(untold, observed);
    } finally {
      const isThawing = observed.sandbox && this.#parts.thaws.has(observed.sandbox.id);
      if (isThawing) void this.#parts.thaws.ended(observed.sandbox.id).then(() => this.#rooms.withdraw(text));
      else this.#rooms.withdraw(text);
    }
  }

  /** Of a capture that has no record. */
  async #tellFailed({ message, reason }: CaptureFailed, { memoryImage }: Observed): Promise<void> {
    if (!memoryImage) return;
    const failed = { phase: "Failed", reason, message: message.slice(0, longestMessage) } as const;
    await this.#parts.report(memoryImage, { ...memoryImage.status, ...failed });
  }

  /** Returns whether a capture is to wait for room. What goes is told to the API first: from then on nobody counts on it. */
  async #makeRoom(observed: Observed): Promise<boolean> {
    const { stage } = observed.memoryImage?.spec ?? {};
    const { reason } =
      stage === "Capture" && !isOver(observed.memoryImage?.status ?? {}) ? (refusalOf(observed) ?? {}) : {};
    if (!roomReasons.includes(reason) || !isShort(shortageOf(observed))) return false;
    const { memoryImage: asking } = observed;
    if (asking && (isGivenUp(asking) || isTooLate(asking, observed.askedForMs))) return false;
    const victims = await this.#chooseVictims(observed);
    for (const { bytes, memoryImage, text } of victims ?? []) {
      await this.#parts.report(memoryImage, { ...memoryImage.status, ...evicted });
      this.#rooms.goes(text, bytes);
      if (memoryImage.metadata.namespace !== observed.key.namespace) this.#rooms.evict(bytes);
      this.#parts.metrics.evicted();
      this.#parts.log.info(
        { image: text, bytes, for: textOf(observed.key) },
        "reported a memory image as evicted; it will be removed to make room",
      );
    }
    return victims !== undefined;
  }

  async #chooseVictims(observed: Observed): Promise<readonly Evictable[] | undefined> {
    const { doors, identity } = this.#parts;
    const staying = observed.evictable.filter(({ text }) => !this.#rooms.isGoing(text));
    const victims = await chooseUnused(staying, wantedOf(observed, this.#rooms.going()), {
      store: doors.store,
      readPod: this.#parts.readPod,
    });
    await doors.storeFile.check(identity);
    return victims;
  }

  async #conclude(observed: Observed): Promise<void> {
    const { log, metrics, report } = this.#parts;
    const { key, memoryImage } = observed;
    this.#noteFrozen(observed);
    const status = conclude(observed);
    if (!status || !memoryImage) return;
    const message = status.message?.slice(0, longestMessage);
    await report(memoryImage, { ...status, ...(message !== undefined && { message }) });
    const { phase, reason, refused, restore } = status;
    if (refused && refused !== memoryImage.status?.refused) metrics.refused(refused.reason);
    if (phase === "Failed" && !observed.failed && isRefusalReason(reason)) metrics.captureFailed(reason);
    if (restore) metrics.restored(restore.outcome);
    if (phase) log.info({ image: textOf(key), phase, reason, restore }, "reported the state of a memory image");
  }

  /** A captured Pod stays frozen, whatever happens to the controller: activators have promised not to use it again. */
  #noteFrozen({ disk, key, nowMs, pod, tombstone }: Observed): void {
    const text = textOf(key);
    if (!tombstone || isEnding(pod)) return void this.#frozen.delete(text);
    if (!this.#frozen.has(text)) this.#frozen.set(text, "seen");
    const capturedMs = readTime(disk.image?.capturedAt)?.getTime() ?? nowMs;
    if (nowMs - capturedMs < deletedWithinMs || this.#frozen.get(text) === "logged") return;
    this.#frozen.set(text, "logged");
    const { capturedAt } = disk.image ?? {};
    this.#parts.log.warn(
      { image: text, pod: tombstone.podUID, capturedAt },
      "a captured Pod stays frozen until it is deleted; if the controller does not delete the Pod, delete it by hand",
    );
  }

  #nextLookMs(observed: Observed): number | undefined {
    const { disk, endingMs, holderEndingMs, memoryImage, nowMs, pod, sandbox, tombstone, user } = observed;
    if (observed.isThawing) return thawingMs;
    if (endingMs > 0 && sandbox?.sentry) return Math.max(0, endedAfterMs(pod) - endingMs) + endingStepMs;
    if (holderEndingMs > 0 && mayWaitForEver(observed))
      return Math.max(0, holderEndsAfterMs(observed) - holderEndingMs) + endingStepMs;
    if (user && !isEnding(user) && disk.image && !useOf(observed)) {
      const askedForMs = nowMs - createdMs(user);
      return askedForMs < slowAfterMs ? restoringMs : slowRestoringMs;
    }
    if (memoryImage?.status?.preflight?.capturable === false && !memoryImage.status.phase) return unfitMs;
    if (!user && disk.marks.length > 0 && !isUsedUp(disk) && !useOf(observed)) return slowRestoringMs;
    return tombstone && !isEnding(pod) ? deletedWithinMs : undefined;
  }

  #askedForMs(text: string, image: Stored<MemoryImage> | undefined): number {
    const isWaiting = image?.spec.stage === "Capture" && [undefined, "Capturing"].includes(image.status?.phase);
    if (!isWaiting) {
      this.#askedFor.delete(text);
      return 0;
    }
    const nowMs = this.#parts.doors.clock.ticksMs();
    const { uid } = image.metadata;
    const known = this.#askedFor.get(text);
    const { sinceMs } = known?.uid === uid ? known : { sinceMs: nowMs };
    this.#askedFor.set(text, { uid, sinceMs });
    return nowMs - sinceMs;
  }

  /** By the clock of this process: that of the node may jump. */
  #markedForMs(text: string, found: readonly Mark[]): number {
    if (found.length === 0) this.#marked.delete(text);
    if (found.length === 0) return 0;
    const nowMs = this.#parts.doors.clock.ticksMs();
    const marks = found
      .map(({ name, container, outcome, writtenMs }) => [name, container, outcome, writtenMs].join())
      .join();
    const known = this.#marked.get(text);
    const { sinceMs } = known?.marks === marks ? known : { sinceMs: nowMs };
    this.#marked.set(text, { marks, sinceMs });
    return nowMs - sinceMs;
  }

  /** By the clock of this process: that of the API server may differ. */
  #endingMs(image: string, role: string, pod: Stored<Pod> | undefined, isExpected = false): number {
    const of = `${role} ${image}`;
    const nowMs = this.#parts.doors.clock.ticksMs();
    const sinceMs = this.#endings.get(of) ?? nowMs;
    const isNow = isEnding(pod) && (pod !== undefined || isExpected);
    if (isNow) this.#endings.set(of, sinceMs);
    else this.#endings.delete(of);
    return isNow ? Math.max(1, nowMs - sinceMs) : 0;
  }
}
