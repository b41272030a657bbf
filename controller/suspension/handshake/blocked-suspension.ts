import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { conditionMessage } from "../../../api/rules/condition-limits.ts";
import { type BlockedReason, findCondition } from "../../../api/rules/conditions.ts";
import { TokenBuckets } from "../../../lib/queues/token-buckets.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Idleness } from "../../idle/decide-idle.ts";

/** What to do with the condition `AutoSuspensionBlocked` of a sandbox. */
export type BlockedSuspension =
  /** The condition must be absent. */
  | { readonly is: "no" }
  | { readonly is: "yes"; readonly reason: BlockedReason; readonly message: string }
  /** Too early to say: the written condition stays as it is. */
  | { readonly is: "undecided" };

/** A shorter silence is reported by the metric and the event alone: a restart takes less time. */
const reportAfterMs = 30_000;

/** The message is stable while the same activator is silent, so that it is written once. */
export function blockedSuspensionOf(idleness: Idleness): BlockedSuspension {
  const refusal = idleness.is === "awake" ? idleness.memoryRefusal : undefined;
  if (refusal) {
    const message = `Sandbox is not suspended for inactivity, because its memory cannot be kept: ${refusal.message}`;
    return { is: "yes", reason: "MemoryNotKept", message };
  }
  const rejected = idleness.is === "exempt" ? undefined : idleness.rejected;
  if (rejected !== undefined) return { is: "yes", reason: "AnnotationRejected", message: conditionMessage(rejected) };
  const silent = idleness.is === "awake" ? idleness.blockedBy : undefined;
  if (!silent) return { is: "no" };
  if (silent.forMs < reportAfterMs) return { is: "undecided" };
  const message = `Activator ${silent.by} does not respond to the controller and may proxy connections to this sandbox`;
  return { is: "yes", reason: "ActivatorUnreachable", message };
}

/** Whether the condition in the status differs from what it should be. */
export function differsFromStatus({ status }: Sandbox, blocked: BlockedSuspension): boolean {
  const written = findCondition(status?.conditions, "AutoSuspensionBlocked");
  if (blocked.is === "undecided") return false;
  return blocked.is === "no" ? written !== undefined : written?.message !== blocked.message;
}

/** Rate limit of changes to the condition: each is a write. */
const writeRate = { perSecond: 50, burst: 250 };

/** The sandboxes whose condition may have to be written. */
export class BlockedReports {
  readonly #keys = new Set<string>();
  readonly #turns: TokenBuckets;

  constructor(clock: Clock) {
    this.#turns = new TokenBuckets(writeRate, clock);
  }

  add(key: string): void {
    this.#keys.add(key);
  }

  drop(key: string): void {
    this.#keys.delete(key);
  }

  /** Notifies of each whose condition differs, until `isOver`. The rest follows when the rate limit allows. */
  report(differs: (key: string) => boolean, notify: (key: string) => void, isOver: () => boolean): void {
    for (const key of this.#keys) {
      if (differs(key)) {
        if (this.#turns.take("", 0) === undefined) return;
        notify(key);
      }
      this.#keys.delete(key);
      if (isOver()) return;
    }
  }
}
