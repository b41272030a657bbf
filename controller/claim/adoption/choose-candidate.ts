import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { isConditionTrue } from "../../../api/rules/conditions.ts";
import { effectiveUpdateStrategy } from "../../../api/rules/defaults.ts";
import { type CurrentBlueprint, currentBlueprint } from "../../blueprint/current-blueprint.ts";
import { isStale } from "../../blueprint/staleness.ts";
import type { AdoptionQueues, Taken } from "./adoption-queue.ts";
import { adoptableFrom } from "./pool-membership.ts";

export interface Chosen {
  /** Taken from the queue: a caller that does not use it must put it back. */
  readonly candidate: Taken;
  readonly sandbox: Stored<Sandbox>;
}

export interface Choice {
  readonly chosen: Chosen | undefined;
  /** Number of candidates that can be taken once they have an address. */
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

type MemberVerdict = "take" | "fallBackOn" | "keep" | "passOver" | "forget";

/**
 * Takes the best candidate of a pool: the first that is ready, else the first that has an address. Candidates that the
 * next claim may get stay in the queue. Those that are no members any more are removed; a change of the Sandbox alone brings
 * them back.
 */
export function chooseCandidate(stock: Stock): Choice {
  const { queues, poolKey, sandboxOf } = stock;
  const classifyMember = judgeOf(stock);
  const lost: Taken[] = [];
  let ready: Chosen | undefined;
  let fallback: Chosen | undefined;
  let pending = 0;
  for (const candidate of queues.inOrder(poolKey)) {
    const sandbox = sandboxOf(candidate.key);
    const verdict = sandbox ? classifyMember(sandbox) : "forget";
    if (!sandbox || verdict === "forget") {
      lost.push(candidate);
      continue;
    }
    if (verdict !== "passOver" && !hasAddress(sandbox)) pending += 1;
    if (verdict === "fallBackOn") fallback ??= { candidate, sandbox };
    if (verdict !== "take") continue;
    ready = { candidate, sandbox };
    break;
  }
  const chosen = ready ?? fallback;
  for (const { key } of chosen ? [...lost, chosen.candidate] : lost) queues.remove(poolKey, key);
  return { chosen, pending };
}

/**
 * Returns a candidate that was not used. One that has left the pool since it was taken could not be removed from the queue, and would
 * stay there for ever.
 */
export function putBack(
  candidate: Taken,
  { poolKey, queues, sandboxOf }: Pick<Stock, "poolKey" | "queues" | "sandboxOf">,
): void {
  const sandbox = sandboxOf(candidate.key);
  if (sandbox && adoptableFrom(sandbox) === poolKey) queues.putBack(poolKey, candidate);
}

const hasAddress = ({ status }: Sandbox): boolean => (status?.podIPs ?? []).length > 0;

function judgeOf({ poolKey, pool, template }: Stock): (sandbox: Sandbox) => MemberVerdict {
  const refreshed = pool && effectiveUpdateStrategy(pool.spec) === "Recreate";
  // Staleness is unknown without the pool and, under the strategy Recreate, without the template.
  const judgeable = pool !== undefined && (!refreshed || template !== undefined);
  const current: CurrentBlueprint | undefined = refreshed && template ? currentBlueprint(template) : undefined;
  return (sandbox) => {
    if (adoptableFrom(sandbox) !== poolKey) return "forget";
    if (!judgeable) return "keep";
    if (current && isStale(sandbox, current)) return "passOver"; // until the pool deletes it, or the template is as before
    if (!hasAddress(sandbox)) return "keep";
    return isConditionTrue(sandbox.status?.conditions, "Ready") ? "take" : "fallBackOn";
  };
}
