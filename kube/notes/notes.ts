import { type KubeObject, keyOf, type Stored } from "../../api/kinds/meta.ts";
import { annotationBytes } from "../../api/rules/annotation-limit.ts";
import type { Logger } from "../../lib/log/log.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import { type ApiError, isRejected } from "../client/errors.ts";
import type { EventRecorder, NewEvent } from "../events/event-recorder.ts";

/** The pause after each rejection of a note, which is usually rejected again. */
export const noteBackoff: Backoff = { baseMs: 1_000, maxMs: 600_000, jitter: 0.2 };

export interface NotesOptions {
  readonly events: EventRecorder | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The number of objects whose rejections are remembered. Further ones replace the oldest, which are tried again sooner. */
const objectsMax = 10_000;

interface Owed {
  readonly rejections: number;
  readonly dueMs: number;
  /** Of all annotations of the object at the last rejection. */
  readonly bytes: number;
}

/**
 * Writes annotations that only inform: nothing that the controller does depends on them. A tenant may have left no room
 * for them. So a rejected note does not end a pass: it is reported, and tried again later, or once the object has fewer
 * bytes of annotations.
 */
export class Notes {
  readonly #options: NotesOptions;
  readonly #mayLog: OncePerMinute;
  /** By UID, then by annotation. */
  readonly #owed = new Map<string, Map<string, Owed>>();

  constructor(options: NotesOptions) {
    this.#options = options;
    this.#mayLog = new OncePerMinute(options.clock);
  }

  /**
   * Writes a note unless it was rejected just now. Returns the milliseconds until the next attempt if it is not written.
   *
   * @throws every other error than a rejection: it may pass, so the caller retries once the rest is done.
   */
  async write(
    object: Stored<KubeObject>,
    annotation: string,
    call: () => Promise<unknown>,
  ): Promise<number | undefined> {
    const waitMs = this.waitMs(object, annotation);
    if (waitMs > 0) return waitMs;
    try {
      await call();
    } catch (error) {
      if (!isRejected(error)) throw error;
      return this.rejected(object, annotation, error);
    }
    this.written(object, annotation);
    return undefined;
  }

  /** A note was written, or is not wanted any more. */
  written({ metadata: { uid } }: Stored<KubeObject>, annotation: string): void {
    const ofObject = this.#owed.get(uid);
    ofObject?.delete(annotation);
    if (ofObject?.size === 0) this.#owed.delete(uid);
  }

  /** Milliseconds until the next attempt; 0: now. */
  waitMs(object: Stored<KubeObject>, annotation: string): number {
    const owed = this.#owed.get(object.metadata.uid)?.get(annotation);
    if (!owed || bytesOf(object) < owed.bytes) return 0;
    return Math.max(owed.dueMs - this.#options.clock.ticksMs(), 0);
  }

  /** Reports a rejected note. Returns the milliseconds until the next attempt. */
  rejected(object: Stored<KubeObject>, annotation: string, err: ApiError): number {
    const { events, log, clock } = this.#options;
    const { uid } = object.metadata;
    const ofObject = this.#owed.get(uid) ?? new Map<string, Owed>();
    const [oldest] = this.#owed.keys();
    if (oldest !== undefined && !this.#owed.has(uid) && this.#owed.size >= objectsMax) this.#owed.delete(oldest);
    this.#owed.set(uid, ofObject);
    const rejections = (ofObject.get(annotation)?.rejections ?? 0) + 1;
    const waitMs = backoffDelayMs(rejections, noteBackoff);
    ofObject.set(annotation, { rejections, dueMs: clock.ticksMs() + waitMs, bytes: bytesOf(object) });
    const key = keyOf(object);
    if (this.#mayLog.asks(`${uid} ${annotation}`)) {
      log.warn(
        { err, kind: object.kind, key, annotation },
        "the API server rejected an annotation that only informs; retrying later",
      );
    }
    if (rejections === 1) events?.record(notWritten(object, annotation, err));
    return waitMs;
  }

  /** Number of objects with a rejected note. */
  get size(): number {
    return this.#owed.size;
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#owed.delete(uid);
  }
}

const bytesOf = ({ metadata }: Stored<KubeObject>): number => annotationBytes(metadata.annotations ?? {});

const notWritten = (regarding: KubeObject, annotation: string, { message }: ApiError): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "AnnotationNotWritten",
  action: "Reconciling",
  note: `could not write the annotation ${annotation}, which only informs: ${message}`,
});
