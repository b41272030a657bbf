import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { annotationBytes } from "../../../api/rules/annotation-limit.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { type ApiError, NotKept } from "../../../kube/client/errors.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { type Backoff, backoffDelayMs } from "../../../lib/queues/backoff.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { OncePerMinute } from "../../../lib/time/once-per-minute.ts";

/** The pause after each rejection. */
const rejectionBackoff: Backoff = { baseMs: 10_000, maxMs: 600_000, jitter: 0.2 };

/** Why a sandbox could not be suspended for inactivity, and when to try again; monotonic milliseconds. */
export interface Rejection {
  readonly message: string;
  readonly untilMs: number;
}

interface Remembered extends Rejection {
  readonly count: number;
  /** Of all annotations of the sandbox at that time. */
  readonly bytes: number;
}

/**
 * Suspensions for inactivity whose annotations the API server rejected, often because all annotations of the sandbox are
 * full. Without the cause a suspension would count as a person's, which cuts work; without the seal it would be unsafe.
 * So the sandbox stays awake, and says why.
 */
export class RejectedSuspensions {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #mayLog: OncePerMinute;
  readonly #rejections = new Map<string, Remembered>();

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#log = log;
    this.#mayLog = new OncePerMinute(clock);
  }

  /** Call only for an existing sandbox, which is remembered until `forget`; undefined: it is gone. */
  add(sandbox: Stored<Sandbox> | undefined, err: ApiError): void {
    if (!sandbox) return;
    const { uid } = sandbox.metadata;
    const count = (this.#rejections.get(uid)?.count ?? 0) + 1;
    const untilMs = this.#clock.ticksMs() + backoffDelayMs(count, rejectionBackoff);
    const message =
      err instanceof NotKept
        ? `This suspension needs what is not kept: ${err.message}`
        : `The API server rejects the annotation that this suspension needs: ${err.message}`;
    this.#rejections.set(uid, { message, untilMs, count, bytes: bytesOf(sandbox) });
    const key = keyOf(sandbox);
    if (this.#mayLog.asks(key)) this.#log.warn({ err, key }, "could not suspend an idle sandbox; retrying later");
  }

  /** Undefined also once the sandbox has fewer bytes of annotations. */
  of(sandbox: Stored<Sandbox>): Rejection | undefined {
    const { uid } = sandbox.metadata;
    const rejection = this.#rejections.get(uid);
    if (rejection && bytesOf(sandbox) < rejection.bytes) this.#rejections.delete(uid);
    return this.#rejections.get(uid);
  }

  /** Number of sandboxes with a rejection. */
  get size(): number {
    return this.#rejections.size;
  }

  /** The sandbox is gone, or its Pod is sealed. */
  forget(uid: string): void {
    this.#rejections.delete(uid);
  }
}

/** A manual suspension waits without a limit: a Pod without a seal might be deleted while a request is sent to it. */
export function rejectedSeal(cause: ApiError): Error {
  const why =
    cause instanceof NotKept
      ? "The annotation that seals the Pod is not kept, so the Pod stays. Correct the admission policy or webhook, or resume this sandbox"
      : "The API server rejects the annotation that seals the Pod, so the Pod stays. Remove annotations of this sandbox, or resume it";
  return new Error(`${why}: ${cause.message}`, { cause });
}

/** Without those of a suspension, which go when it is cancelled. */
function bytesOf({ metadata }: Stored<Sandbox>): number {
  const { [suspensionCauseAnnotation]: _, [sealedPodAnnotation]: __, ...others } = metadata.annotations ?? {};
  return annotationBytes(others);
}
