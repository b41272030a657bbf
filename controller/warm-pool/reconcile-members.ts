import { keyOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { launchTypeLabel } from "../../api/rules/keys.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { OwnWrites } from "../own-writes.ts";
import { controllerReference, ownershipOf, takenOverBy } from "../ownership.ts";
import { classifyMember, type MemberVerdict } from "./classify-member.ts";
import { inBatches } from "./in-batches.ts";
import type { Observed } from "./observed.ts";
import type { Expectations } from "./resize/expectations.ts";

export interface WarmPoolWriters {
  readonly client: KubeClient;
  readonly pools: OwnWrites<SandboxWarmPool>;
  readonly sandboxes: OwnWrites<Sandbox>;
  /** By the UID of the pool. */
  readonly expectations: Expectations;
}

/** The members of a pool, after stale and stuck ones were removed and incomplete ones completed. */
export interface Census {
  readonly active: readonly Stored<Sandbox>[];
  readonly terminating: number;
  /** Neither usable nor gone: their removal or completion failed. */
  readonly unsettled: number;
  /** Those that were deleted now because they did not become ready in time. */
  readonly replaced: readonly Stored<Sandbox>[];
  /** How many of the active ones wait for a node. */
  readonly held: number;
  /** When the next one will be overdue. */
  readonly overdueInMs?: number;
  readonly failures: readonly unknown[];
}

interface MemberStatus {
  readonly counts: "active" | "terminating" | "unsettled" | "none";
  readonly sandbox: Stored<Sandbox>;
  readonly verdict: MemberVerdict;
  readonly failure?: unknown;
}

/** One pass over the members of a pool. */
interface PoolPass {
  readonly pool: Stored<SandboxWarmPool>;
  readonly writers: WarmPoolWriters;
  readonly signal: AbortSignal;
}

/** Removes stale and stuck members, completes those that lack a label or owner, and counts the result. */
export async function reconcileMembers(
  observed: Observed,
  writers: WarmPoolWriters,
  signal: AbortSignal,
): Promise<Census> {
  const { pool } = observed;
  const standings = await inBatches(observed.labelled, async (sandbox): Promise<MemberStatus> => {
    const verdict = classifyMember(sandbox, observed);
    try {
      return { ...(await dealWith(sandbox, verdict, { pool, writers, signal })), verdict };
    } catch (failure) {
      signal.throwIfAborted();
      return { counts: verdict.is === "stuck" ? "active" : "unsettled", sandbox, verdict, failure };
    }
  });
  const counting = (counts: MemberStatus["counts"]) => standings.filter((one) => one.counts === counts);
  const active = counting("active");
  const overdueInMs = active.flatMap(({ verdict }) => (verdict.is === "active" ? (verdict.overdueInMs ?? []) : []));
  return {
    active: active.map(({ sandbox }) => sandbox),
    terminating: counting("terminating").length,
    unsettled: counting("unsettled").length,
    replaced: standings
      .filter(({ counts, verdict }) => verdict.is === "stuck" && counts !== "active")
      .map(({ sandbox }) => sandbox),
    held: active.filter(({ verdict }) => verdict.is === "active" && verdict.held).length,
    ...(overdueInMs.length > 0 && { overdueInMs: Math.min(...overdueInMs) }),
    failures: standings.flatMap(({ failure }) => failure ?? []),
  };
}

async function dealWith(
  sandbox: Stored<Sandbox>,
  verdict: MemberVerdict,
  { pool, writers, signal }: PoolPass,
): Promise<Pick<MemberStatus, "counts" | "sandbox">> {
  switch (verdict.is) {
    case "uncounted":
      return { counts: "none", sandbox };
    case "terminating":
      return { counts: "terminating", sandbox };
    case "stale":
    case "stuck": {
      if (await removeMember(sandbox, pool, writers, signal)) {
        return { counts: ownershipOf(sandbox, pool) === "owned" ? "terminating" : "none", sandbox };
      }
      return { counts: verdict.is === "stuck" ? "active" : "unsettled", sandbox };
    }
    case "overdue":
      return { counts: "active", sandbox };
    case "active":
      return { counts: "active", sandbox: await complete(sandbox, verdict, { pool, writers, signal }) };
  }
}

/** Writes what a member lacks, unless another client has changed the member meanwhile: it may just be claimed. */
async function complete(
  sandbox: Stored<Sandbox>,
  { lacks }: { readonly lacks?: "launchType" | "owner" },
  { pool, writers: { client, sandboxes }, signal }: PoolPass,
): Promise<Stored<Sandbox>> {
  if (!lacks) return sandbox;
  const { namespace, name, resourceVersion } = sandbox.metadata;
  const metadata = {
    resourceVersion,
    labels: { [launchTypeLabel]: "warm" },
    ...(lacks === "owner" && takenOverBy(controllerReference(sandboxWarmPoolType, pool), sandbox)),
  };
  const patch = { type: "merge", body: { metadata } } as const;
  return sandboxes.write(keyOf(sandbox), () => client.patch(sandboxType, { namespace, name }, patch, {}, signal));
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
  if (owned) expectations.expectDeletion(pool.metadata.uid, uid);
  try {
    await client.delete(sandboxType, { namespace, name }, { preconditions: { uid, resourceVersion } }, signal);
    return true;
  } catch (error) {
    // What is gone, or never went, is not to be waited for.
    expectations.deletionObserved(pool.metadata.uid, uid);
    if (isNotFound(error)) return true;
    if (isConflict(error)) return false;
    throw error;
  }
}
