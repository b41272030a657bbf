import type { Stored } from "../../../api/kinds/meta.ts";
import type { Hibernation, Sandbox } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import type { MemoryRefusal } from "../../suspension/hibernation/memory-provider.ts";
import { isToHibernate } from "../../suspension/hibernation/strategy.ts";
import type { SeenPod } from "./condition-facts.ts";

/** What is known about the memory of a sandbox. */
export interface SeenMemory {
  readonly sandbox: Stored<Sandbox>;
  readonly pod: SeenPod;
  /** Undefined: it could be kept. */
  readonly refusal: MemoryRefusal | undefined;
}

/**
 * What the status tells about the memory; undefined for a sandbox that is not to hibernate. It follows from the status before and
 * from what is seen now, so a controller that takes over in the middle tells the same.
 */
export function hibernationOf(seen: SeenMemory): Hibernation | undefined {
  const { sandbox } = seen;
  if (!isToHibernate(sandbox.spec)) return undefined;
  const before = sandbox.status?.hibernation;
  if (isLosingMemory(seen)) return before?.state ? before : stopped(seen);
  return before?.state && hasNewLife(seen) ? awake(before) : before;
}

/** No capture is made in this release, so a Pod that goes takes its memory with it. */
function isLosingMemory({ sandbox, pod }: SeenMemory): boolean {
  if (pod.is === "owned") {
    const { uid, deletionTimestamp } = pod.pod.metadata;
    const isSuspended = effectiveOperatingMode(sandbox.spec) === "Suspended";
    return sealOf(sandbox)?.podUid === uid || (isSuspended && deletionTimestamp !== undefined);
  }
  if (pod.is !== "none" || effectiveOperatingMode(sandbox.spec) === "Running") return false;
  // A sandbox that was created suspended, or got its strategy while it was, has had no memory to keep.
  return findCondition(sandbox.status?.conditions, "Suspended")?.status === "False";
}

function hasNewLife({ sandbox, pod }: SeenMemory): boolean {
  if (pod.is !== "owned" || effectiveOperatingMode(sandbox.spec) !== "Running") return false;
  return sealOf(sandbox) === undefined && pod.pod.metadata.deletionTimestamp === undefined;
}

const notCaptured: MemoryRefusal = { reason: "NotCaptured", message: "the memory was not captured" };

function stopped({ sandbox, refusal = notCaptured }: SeenMemory): Hibernation {
  const lastWake = sandbox.status?.hibernation?.lastWake;
  return { state: "Stopped", reason: refusal.reason, message: refusal.message, ...(lastWake && { lastWake }) };
}

const awake = ({ reason }: Hibernation): Hibernation => ({ lastWake: { mode: "Anew", ...(reason && { reason }) } });
