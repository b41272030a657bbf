import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../../api/kinds/sandbox-warm-pool.ts";
import { generatedName } from "../../../api/rules/generated-name.ts";
import { isAlreadyExists } from "../../../kube/client/errors.ts";
import type { Observed } from "../observed.ts";
import type { PoolMemory } from "../pool-memory.ts";
import { removeMember, type WarmPoolWriters } from "../reconcile-members.ts";
import type { Resize } from "./decide-size.ts";
import { makeMember, memberNameBase } from "./make-member.ts";
import { slowStart } from "./slow-start.ts";

export interface Resized {
  readonly failures: readonly unknown[];
  readonly requeueAfterMs?: number;
  /** The pool was deleted, which its store does not show yet; absent: it was not asked for, or is there. */
  readonly isPoolGone?: boolean;
}

// The events that are expected wake the pool; this is for those that never come.
const expectationsRecheckMs = 30_000;
const namesMax = 5;
/** The pool has changed since it was seen, which its store shows from now on. */
const changedRecheckMs = 200;
/** What `Creations` knows the members of a pool by: they have other names each time. */
const members = "members";

export interface Resizing {
  readonly observed: Observed;
  readonly memory: PoolMemory;
  readonly writers: WarmPoolWriters;
  readonly evictable: boolean;
}

/** Creates or deletes members as decided, as far as the rate limit and pending expectations allow. */
export async function resize(decided: Resize, resizing: Resizing, signal: AbortSignal): Promise<Resized> {
  switch (decided.do) {
    case "nothing":
      return { failures: [] };
    case "wait":
      return { failures: [], requeueAfterMs: decided.forMs };
    case "create":
      return (await insteadForStore(resizing, signal)) ?? create(decided.count, resizing, signal);
    case "remove":
      return (await insteadForStore(resizing, signal)) ?? remove(decided.members, resizing, signal);
  }
}

/** What to do instead of the first resize, while the store does not show what another leader has made. */
async function insteadForStore(
  { observed: { pool, labelled }, memory, writers }: Resizing,
  signal: AbortSignal,
): Promise<Resized | undefined> {
  const looking = { client: writers.client, store: writers.expectations.store };
  try {
    const requeueAfterMs = await memory.firstLook.waitMs(pool, labelled, looking, signal);
    return requeueAfterMs === undefined ? undefined : { failures: [], requeueAfterMs };
  } catch (failure) {
    signal.throwIfAborted();
    return { failures: [failure] };
  }
}

async function create(
  count: number,
  { observed: { pool, template, snapshot }, memory, writers, evictable }: Resizing,
  signal: AbortSignal,
): Promise<Resized> {
  const { client, expectations } = writers;
  if (!template) return { failures: [] };
  const { granted, nextMs } = memory.bucket.take(count);
  if (granted === 0) return { failures: [], ...(nextMs !== undefined && { requeueAfterMs: nextMs }) };
  const instead = await insteadForPool(pool, writers, signal).catch((failure: unknown) => {
    signal.throwIfAborted();
    return { failures: [failure] };
  });
  if (instead) {
    memory.bucket.giveBack(granted);
    return instead;
  }
  if (!expectations.tryExpectCreations(snapshot, granted)) {
    memory.bucket.giveBack(granted);
    return { failures: [], requeueAfterMs: expectationsRecheckMs };
  }
  const make = async () => {
    for (let attempt = 1; ; attempt += 1) {
      const member = makeMember(generatedName(memberNameBase(pool)), pool, template, evictable);
      try {
        const made = await client.create(sandboxType, member, {}, signal);
        expectations.written(snapshot.owner, made.metadata.resourceVersion);
        return made;
      } catch (error) {
        // The name is taken; there are fourteen million names.
        if (!isAlreadyExists(error) || attempt === namesMax) throw error;
      }
    }
  };
  const { done, undone, error } = await slowStart(Array.from({ length: granted }), make, signal);
  memory.hold.made(done.length);
  if (done.length > 0) writers.creations.note(pool, members);
  if (undone > 0) expectations.lowerCreations(snapshot.owner, undone);
  return { failures: error === undefined ? [] : [error] };
}

/** What to do instead of a second creation for a pool as it was seen, if it is gone or has changed. */
async function insteadForPool(
  pool: Stored<SandboxWarmPool>,
  { client, pools, creations }: WarmPoolWriters,
  signal: AbortSignal,
): Promise<Resized | undefined> {
  if (!creations.isRepeated(pool, members)) return undefined;
  const { namespace, name, uid, resourceVersion } = pool.metadata;
  const now = await pools.read(keyOf(pool), () => client.get(sandboxWarmPoolType, { namespace, name }, signal));
  if (now?.metadata.uid !== uid || now.metadata.deletionTimestamp) return { failures: [], isPoolGone: true };
  return now.metadata.resourceVersion === resourceVersion
    ? undefined
    : { failures: [], requeueAfterMs: changedRecheckMs };
}

async function remove(
  surplus: readonly Stored<Sandbox>[],
  { observed: { pool, snapshot }, writers }: Resizing,
  signal: AbortSignal,
): Promise<Resized> {
  if (!writers.expectations.holds(snapshot)) return { failures: [], requeueAfterMs: expectationsRecheckMs };
  const { error } = await slowStart(surplus, (member) => removeMember(member, pool, writers, signal), signal);
  return { failures: error === undefined ? [] : [error] };
}
