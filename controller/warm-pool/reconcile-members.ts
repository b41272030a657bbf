import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { launchTypeLabel } from "../../api/rules/keys.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { OwnWrites } from "../own-writes.ts";
import { controllerReference, ownershipOf, takenOverBy } from "../ownership.ts";
import type { Creations } from "../stores/creations.ts";
import { classifyMember, type MemberVerdict } from "./classify-member.ts";
import { expectationsKey } from "./members.ts";
import type { Observed } from "./observed.ts";
import type { Expectations } from "./resize/expectations.ts";
import { slowStart } from "./resize/slow-start.ts";

export interface WarmPoolWriters {
  readonly client: KubeClient;
  readonly pools: OwnWrites<SandboxWarmPool>;
  readonly creations: Creations;
  readonly sandboxes: OwnWrites<Sandbox>;
  /** See `expectationsKey`. */
  readonly expectations: Expectations;
}

/** The members of a pool, after one batch of removals and completions. */
export interface Census {
  readonly active: readonly Stored<Sandbox>[];
  readonly terminating: number;
  /** Neither usable nor gone: their removal or completion failed, or waits for the next batch. */
  readonly unsettled: number;
  /** Those that were deleted now because they did not become ready in time. */
  readonly replaced: readonly Stored<Sandbox>[];
  /** How many of the active ones wait for a node. */
  readonly held: number;
  /** When the next one will be overdue. */
  readonly overdueInMs?: number;
  /** The number of calls of the batch that are left. */
  readonly batchLeft: number;
  /** Whether members may be left for the next batch. */
  readonly unfinished: boolean;
  readonly failures: readonly unknown[];
}

/** The writes of one pass to the members of one pool. */
export interface MemberBatch {
  readonly max: number;
  /** UIDs of members whose last write failed, or came too late: others come before them. Kept from pass to pass. */
  readonly refused: Set<string>;
}

interface Found {
  readonly sandbox: Stored<Sandbox>;
  readonly verdict: MemberVerdict;
}

interface MemberStatus {
  readonly counts: "active" | "terminating" | "unsettled" | "none";
  readonly sandbox: Stored<Sandbox>;
}

/**
 * Removes stale and stuck members, completes those that lack a label or owner, and counts the result. All writes
 * together are at most one batch, in a slow start.
 */
export async function reconcileMembers(
  observed: Observed,
  writers: WarmPoolWriters,
  { max, refused }: MemberBatch,
  signal: AbortSignal,
): Promise<Census> {
  const { labelled, pool } = observed;
  const uids = new Set(labelled.map(({ metadata }) => metadata.uid));
  for (const uid of refused) if (!uids.has(uid)) refused.delete(uid);
  const found = labelled.map((sandbox): Found => ({ sandbox, verdict: classifyMember(sandbox, observed) }));
  const removals = refusedLast(found.filter(isToBeRemoved), refused);
  const incomplete = refusedLast(found.filter(isIncomplete), refused);
  const statuses = new Map<string, MemberStatus>();
  let attempts = 0;
  const inOneBatch = async (members: readonly Found[], act: (member: Found) => Promise<MemberStatus>) => {
    const attempt = async (member: Found) => {
      const { uid } = member.sandbox.metadata;
      attempts += 1;
      refused.add(uid);
      const status = await act(member);
      statuses.set(uid, status);
      if (status.counts !== untouched(member)) refused.delete(uid);
    };
    const { error } = await slowStart(members.slice(0, max - attempts), attempt, signal);
    signal.throwIfAborted();
    return error === undefined ? [] : [error];
  };
  const failures = [
    ...(await inOneBatch(removals, (member) => replace(member, pool, writers, signal))),
    ...(await inOneBatch(incomplete, (member) => complete(member, pool, writers, signal))),
  ];
  // With a whole batch, Pods of overdue members may be unread.
  const unfinished = removals.length + incomplete.length > attempts || attempts === max;
  return { ...count(found, statuses), batchLeft: max - attempts, unfinished, failures };
}

const isToBeRemoved = ({ verdict }: Found): boolean => verdict.is === "stale" || verdict.is === "stuck";

const isIncomplete = ({ verdict }: Found): boolean => verdict.is === "active" && verdict.lacks !== undefined;

/** A member whose write is refused does not delay the others. */
const refusedLast = (members: readonly Found[], refused: ReadonlySet<string>): readonly Found[] =>
  members.toSorted((a, b) => Number(refused.has(a.sandbox.metadata.uid)) - Number(refused.has(b.sandbox.metadata.uid)));

/** What a member counts as until its removal or completion has worked. */
function untouched({ verdict }: Found): MemberStatus["counts"] {
  switch (verdict.is) {
    case "uncounted":
      return "none";
    case "terminating":
      return "terminating";
    case "stale":
      return "unsettled";
    case "stuck":
    case "overdue":
      return "active";
    case "active":
      return verdict.lacks ? "unsettled" : "active";
  }
}

function count(
  found: readonly Found[],
  statuses: ReadonlyMap<string, MemberStatus>,
): Omit<Census, "batchLeft" | "unfinished" | "failures"> {
  const counted = found.map((member) => {
    const { sandbox, verdict } = member;
    return { ...(statuses.get(sandbox.metadata.uid) ?? { sandbox, counts: untouched(member) }), verdict };
  });
  const counting = (counts: MemberStatus["counts"]) => counted.filter((one) => one.counts === counts);
  const active = counting("active");
  const overdueInMs = active.flatMap(({ verdict }) => (verdict.is === "active" ? (verdict.overdueInMs ?? []) : []));
  return {
    active: active.map(({ sandbox }) => sandbox),
    terminating: counting("terminating").length,
    unsettled: counting("unsettled").length,
    replaced: counted
      .filter(({ counts, verdict }) => verdict.is === "stuck" && counts !== "active")
      .map(({ sandbox }) => sandbox),
    held: active.filter(({ verdict }) => verdict.is === "active" && verdict.held).length,
    ...(overdueInMs.length > 0 && { overdueInMs: Math.min(...overdueInMs) }),
  };
}

/** Removes a member, so that another takes its place. */
async function replace(
  member: Found,
  pool: Stored<SandboxWarmPool>,
  writers: WarmPoolWriters,
  signal: AbortSignal,
): Promise<MemberStatus> {
  const { sandbox } = member;
  if (!(await removeMember(sandbox, pool, writers, signal))) return { counts: untouched(member), sandbox };
  return { counts: ownershipOf(sandbox, pool) === "owned" ? "terminating" : "none", sandbox };
}

/** Writes what a member lacks, unless another client has changed the member meanwhile: it may just be claimed. */
async function complete(
  { sandbox, verdict }: Found,
  pool: Stored<SandboxWarmPool>,
  { client, sandboxes }: WarmPoolWriters,
  signal: AbortSignal,
): Promise<MemberStatus> {
  const { namespace, name, resourceVersion } = sandbox.metadata;
  const metadata = {
    resourceVersion,
    labels: { [launchTypeLabel]: "warm" },
    ...(verdict.is === "active" &&
      verdict.lacks === "owner" &&
      takenOverBy(controllerReference(sandboxWarmPoolType, pool), sandbox)),
  };
  const patch = { type: "merge", body: { metadata } } as const;
  const call = () => client.patch(sandboxType, { namespace, name }, patch, {}, signal);
  return { counts: "active", sandbox: await sandboxes.patch(sandbox, { metadata }, call) };
}

/**
 * Deletes a member as it was seen: one that has changed since may have been claimed, and stays. Its change wakes the
 * pool. Returns whether it goes.
 *
 * @throws the error of the API server.
 */
export async function removeMember(
  sandbox: Stored<Sandbox>,
  pool: Stored<SandboxWarmPool>,
  { client, expectations }: WarmPoolWriters,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name, uid, resourceVersion } = sandbox.metadata;
  const owned = ownershipOf(sandbox, pool) === "owned";
  const owner = expectationsKey(pool.metadata.namespace, pool.metadata.uid);
  if (owned) expectations.expectDeletion(owner, uid);
  try {
    await client.delete(sandboxType, { namespace, name }, { preconditions: { uid, resourceVersion } }, signal);
    if (owned) expectations.written(owner);
    return true;
  } catch (error) {
    // What is gone, or never went, is not to be waited for.
    expectations.deletionObserved(owner, uid);
    if (isNotFound(error)) return true;
    if (isConflict(error)) return false;
    throw error;
  }
}
