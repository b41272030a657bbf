import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import type { Idleness } from "../idle/decide-idle.ts";

/** What to do with the condition `AutoSuspensionBlocked` of a sandbox. */
export type BlockedSuspension =
  /** The condition must be absent. */
  | { readonly is: "no" }
  | { readonly is: "yes"; readonly message: string }
  /** Unknown so far: the written condition stays. */
  | { readonly is: "unknown" };

/** A shorter silence is reported by the metric and the event alone: a restart takes less time. */
const reportAfterMs = 30_000;

/** The message is stable while the same activator is silent, so that it is written once. */
export function blockedSuspensionOf(idleness: Idleness): BlockedSuspension {
  const silent = idleness.is === "awake" ? idleness.heldUpBy : undefined;
  if (!silent) return { is: "no" };
  if (silent.forMs < reportAfterMs) return { is: "unknown" };
  const message = `Activator ${silent.by} does not respond to the controller and may proxy connections to this sandbox`;
  return { is: "yes", message };
}

/** Whether the written condition differs. */
export function isNewsOf({ status }: Sandbox, heldUp: BlockedSuspension): boolean {
  const written = findCondition(status?.conditions, "AutoSuspensionBlocked");
  if (heldUp.is === "unknown") return false;
  return heldUp.is === "no" ? written !== undefined : written?.message !== heldUp.message;
}
