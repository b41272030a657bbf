import { isConditionTrue } from "../../api/conditions.ts";
import { effectiveUpdateStrategy } from "../../api/defaults.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import { type CurrentBlueprint, currentBlueprint } from "../blueprint/current-blueprint.ts";
import { isStale } from "../blueprint/staleness.ts";
import type { AdoptionQueues, Taken } from "./adoption-queue.ts";
import { adoptableFrom } from "./pool-membership.ts";

export interface Chosen {
  /** Taken from the queue: whoever does not use it puts it back. */
  readonly candidate: Taken;
  readonly sandbox: Stored<Sandbox>;
}

export interface Choice {
  readonly chosen: Chosen | undefined;
  /** Candidates that would do as soon as they have an address. */
  readonly pending: number;
}

export interface Stock {
  /** `namespace/name`. */
  readonly poolKey: string;
  readonly queues: AdoptionQueues;
  readonly sandboxOf: (key: string) => Stored<Sandbox> | undefined;
  readonly pool: Pick<SandboxWarmPool, "spec"> | undefined;
  readonly template: Stored<SandboxTemplate> | undefined;
}

type Verdict = "take" | "fallBackOn" | "keep" | "forget";

/**
 * Takes the best candidate of a pool: the first that is ready, else the first that has an address. What may be given
 * to the next claim stays in the queue; what nobody may have leaves it.
 */
export function chooseCandidate(stock: Stock): Choice {
  const { queues, poolKey, sandboxOf } = stock;
  const judge = judgeOf(stock);
  const kept: Taken[] = [];
  let chosen: Chosen | undefined;
  let fallback: Chosen | undefined;
  let pending = 0;
  while (!chosen) {
    const candidate = queues.take(poolKey);
    if (!candidate) break;
    const sandbox = sandboxOf(candidate.key);
    const verdict = sandbox ? judge(sandbox) : "forget";
    if (!sandbox || verdict === "forget") continue;
    if (!hasAddress(sandbox)) pending += 1;
    if (verdict === "take") chosen = { candidate, sandbox };
    else if (verdict === "fallBackOn" && !fallback) fallback = { candidate, sandbox };
    else kept.push({ ...candidate, nodeName: sandbox.status?.nodeName ?? "" });
  }
  if (chosen && fallback) kept.push(fallback.candidate);
  for (const candidate of kept) queues.putBack(poolKey, candidate);
  return { chosen: chosen ?? fallback, pending };
}

const hasAddress = ({ status }: Sandbox): boolean => (status?.podIPs ?? []).length > 0;

function judgeOf({ poolKey, pool, template }: Stock): (sandbox: Sandbox) => Verdict {
  const refreshed = pool && effectiveUpdateStrategy(pool.spec) === "Recreate";
  // Whether it is stale cannot be told without the pool, nor, where that matters, without the template.
  const judgeable = pool !== undefined && (!refreshed || template !== undefined);
  const current: CurrentBlueprint | undefined = refreshed && template ? currentBlueprint(template) : undefined;
  return (sandbox) => {
    if (adoptableFrom(sandbox) !== poolKey) return "forget";
    if (!judgeable) return "keep";
    if (current && isStale(sandbox, current)) return "forget"; // the pool is about to delete it
    if (!hasAddress(sandbox)) return "keep";
    return isConditionTrue(sandbox.status?.conditions, "Ready") ? "take" : "fallBackOn";
  };
}
