import type { Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
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
}

// The events that are expected wake the pool; this is for those that never come.
const expectationsRecheckMs = 30_000;
const namesMax = 5;

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
      return create(decided.count, resizing, signal);
    case "remove":
      return remove(decided.members, resizing, signal);
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
  if (!expectations.tryExpectCreations(snapshot, granted)) {
    memory.bucket.giveBack(granted);
    return { failures: [], requeueAfterMs: expectationsRecheckMs };
  }
  const make = async () => {
    for (let attempt = 1; ; attempt += 1) {
      const member = makeMember(generatedName(memberNameBase(pool)), pool, template, evictable);
      try {
        return await client.create(sandboxType, member, {}, signal);
      } catch (error) {
        // The name is taken; there are fourteen million names.
        if (!isAlreadyExists(error) || attempt === namesMax) throw error;
      }
    }
  };
  const { done, undone, error } = await slowStart(Array.from({ length: granted }), make, signal);
  memory.hold.made(done.length);
  if (undone > 0) expectations.lowerCreations(snapshot.owner, undone);
  return { failures: error === undefined ? [] : [error] };
}

async function remove(
  members: readonly Stored<Sandbox>[],
  { observed: { pool, snapshot }, writers }: Resizing,
  signal: AbortSignal,
): Promise<Resized> {
  if (!writers.expectations.holds(snapshot)) return { failures: [], requeueAfterMs: expectationsRecheckMs };
  const { error } = await slowStart(members, (member) => removeMember(member, pool, writers, signal), signal);
  return { failures: error === undefined ? [] : [error] };
}
