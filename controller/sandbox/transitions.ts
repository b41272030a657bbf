import { findCondition, isConditionTrue } from "../../api/conditions.ts";
import { effectiveOperatingMode } from "../../api/defaults.ts";
import type { Condition } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Happening } from "../../kube/event-recorder.ts";
import type { Failure } from "./actions.ts";
import { isDeletedOnExpiry } from "./expiry.ts";

/** One pass, before and after. */
export interface Passage {
  readonly sandbox: Sandbox;
  readonly before: readonly Condition[];
  readonly after: readonly Condition[];
  readonly podCreated: boolean;
  readonly failures: readonly Failure[];
}

type Conditions = Pick<Passage, "before" | "after">;

/** What is worth an event: only what has changed, so that a pass that finds everything as it was tells nothing. */
export function happeningsOf(passage: Passage): readonly Happening[] {
  const { sandbox: regarding } = passage;
  return tellers.flatMap((tell) => {
    const told = tell(passage);
    return told ? [{ regarding, ...told }] : [];
  });
}

type Told = Omit<Happening, "regarding">;

const tellers: readonly ((passage: Passage) => Told | undefined)[] = [
  podCreated,
  podCreateFailed,
  multiplePods,
  podEnded,
  ready,
  suspended,
  expired,
];

const reasonOf = (conditions: readonly Condition[], type: string) => findCondition(conditions, type)?.reason;

/** The condition is True since this pass. */
export const turnedTrue = ({ before, after }: Conditions, type: string): boolean =>
  !isConditionTrue(before, type) && isConditionTrue(after, type);

/** Ready has this reason since this pass. */
export const becameUnready = ({ before, after }: Conditions, reason: string): boolean =>
  reasonOf(before, "Ready") !== reason && reasonOf(after, "Ready") === reason;

function podCreated({ podCreated, sandbox }: Passage): Told | undefined {
  if (!podCreated) return undefined;
  const note = `Created Pod "${sandbox.metadata.name}"`;
  return { type: "Normal", reason: "SandboxPodCreated", action: "PodCreation", note };
}

function podCreateFailed({ failures, before, after }: Passage): Told | undefined {
  const failure = failures.find(({ action }) => action.do === "createPod");
  const known = findCondition(before, "Ready")?.message === findCondition(after, "Ready")?.message;
  if (!failure || known) return undefined;
  const note = `Failed to create Pod: ${failure.message}`;
  return { type: "Warning", reason: "SandboxPodCreateFailed", action: "PodCreation", note };
}

function multiplePods(passage: Passage): Told | undefined {
  if (!becameUnready(passage, "MultiplePods")) return undefined;
  const note = findCondition(passage.after, "Ready")?.message ?? "";
  return { type: "Warning", reason: "MultiplePods", action: "Reconciling", note };
}

/** A Pod that ends because its sandbox is suspended did what it was told; the suspension is the news. */
function podEnded(passage: Passage): Told | undefined {
  if (effectiveOperatingMode(passage.sandbox.spec) === "Suspended") return undefined;
  const finished = findCondition(passage.after, "Finished");
  if (!finished || !turnedTrue(passage, "Finished")) return undefined;
  const type = finished.reason === "PodFailed" ? "Warning" : "Normal";
  return { type, reason: finished.reason, action: "Reconciling", note: finished.message };
}

function ready(passage: Passage): Told | undefined {
  if (!turnedTrue(passage, "Ready")) return undefined;
  return { type: "Normal", reason: "SandboxReady", action: "Reconciling", note: "Sandbox is ready" };
}

/** One that was made suspended was never suspended by anybody. */
function suspended(passage: Passage): Told | undefined {
  if (!findCondition(passage.before, "Suspended") || !turnedTrue(passage, "Suspended")) return undefined;
  return { type: "Normal", reason: "SandboxSuspended", action: "Reconciling", note: "Sandbox is suspended" };
}

function expired(passage: Passage): Told | undefined {
  if (isDeletedOnExpiry(passage.sandbox) || !becameUnready(passage, "SandboxExpired")) return undefined;
  return { type: "Normal", reason: "SandboxExpired", action: "Expiry", note: "Sandbox has expired" };
}
