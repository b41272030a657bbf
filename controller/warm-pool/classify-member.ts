import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { effectiveUpdateStrategy } from "../../api/rules/defaults.ts";
import { launchTypeLabel } from "../../api/rules/keys.ts";
import { isStale } from "../blueprint/staleness.ts";
import { type Ownership, ownershipOf } from "../ownership.ts";
import { isReady } from "./members.ts";
import type { Observed } from "./observed.ts";

/**
 * What a pool thinks of a sandbox with its label.
 *
 * - `uncounted`: another owner controls it, or it has no controller and terminates;
 * - `terminating`: being deleted, and its place is free only when it is gone;
 * - `stale`: differs from what the template would create now;
 * - `stuck`: it has had its time to become ready;
 * - `overdue`: the same, unless its Pod waits for a node; the Pod must be read;
 * - `active`: to be counted on.
 */
export type MemberVerdict =
  | { readonly is: "uncounted" | "terminating" | "stale" | "stuck" | "overdue" }
  | {
      readonly is: "active";
      /** What has to be written before it is a proper member. */
      readonly lacks?: "launchType" | "owner";
      /** It waits for a node; another in its place would wait as well. */
      readonly held: boolean;
      /** When it will be overdue. */
      readonly overdueInMs?: number;
    };

/** The first rule that applies decides. */
export function classifyMember(member: Stored<Sandbox>, observed: Observed): MemberVerdict {
  const ownership = ownershipOf(member, observed.pool);
  if (ownership === "foreign") return { is: "uncounted" };
  if (isLeaving(member, ownership, observed)) return { is: ownership === "owned" ? "terminating" : "uncounted" };
  if (mustMatchTemplate(ownership, observed) && isStaleNow(member, observed)) return { is: "stale" };
  const lacks = lackOf(member, ownership);
  return judgeReadiness(member, observed, lacks && { lacks });
}

const isLeaving = ({ metadata }: Stored<Sandbox>, ownership: Ownership, { pendingDeletions }: Observed): boolean =>
  metadata.deletionTimestamp !== undefined || (ownership === "owned" && pendingDeletions.has(metadata.uid));

const mustMatchTemplate = (ownership: Ownership, { pool }: Observed): boolean =>
  ownership === "unowned" || effectiveUpdateStrategy(pool.spec) === "Recreate";

const isStaleNow = (member: Stored<Sandbox>, { template }: Observed): boolean =>
  template !== undefined && isStale(member, template.blueprint);

function lackOf({ metadata }: Stored<Sandbox>, ownership: Ownership): "launchType" | "owner" | undefined {
  if (ownership === "unowned") return "owner";
  return metadata.labels?.[launchTypeLabel] === "warm" ? undefined : "launchType";
}

// A check at exactly that time could find it not overdue by a fraction of a second.
const afterGraceMs = 2_000;

function judgeReadiness(
  member: Stored<Sandbox>,
  { agesMs, readinessGraceMs, pods }: Observed,
  lack: { readonly lacks: "launchType" | "owner" } | undefined,
): MemberVerdict {
  const { uid } = member.metadata;
  if (isReady(member)) return { is: "active", held: false, ...lack };
  const ageMs = agesMs.get(uid) ?? 0;
  const graceMs = readinessGraceMs(member);
  if (ageMs <= graceMs) {
    return { is: "active", held: false, overdueInMs: graceMs - ageMs + afterGraceMs, ...lack };
  }
  if (!pods.has(uid)) return { is: "overdue" };
  const pod = pods.get(uid);
  return pod && waitsForNode(pod) ? { is: "active", held: true, ...lack } : { is: "stuck" };
}

const reasonsToWait: readonly (string | undefined)[] = ["Unschedulable", "SchedulingGated"];

export function waitsForNode({ metadata, status }: Stored<Pod>): boolean {
  if (metadata.deletionTimestamp) return false;
  const scheduled = findCondition(status?.conditions, "PodScheduled");
  return scheduled?.status === "False" && reasonsToWait.includes(scheduled.reason);
}
