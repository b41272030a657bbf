import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import type { Change, Informer } from "../../../kube/informer/informer.ts";
import { semanticallyEqual } from "../../semantic-equality.ts";
import type { Source } from "../../start-kind.ts";
import type { AdoptionQueues } from "./adoption-queue.ts";
import { adoptableFrom, claimantOf } from "./pool-membership.ts";

/** Enqueues the claims whose sandboxes are created, deleted, or change in a field that the claim's status reports. */
export const claimsOfSandboxes =
  (sandboxes: Informer<Sandbox>): Source =>
  (enqueue) =>
    sandboxes.onChange((change) => claimsAffectedBy(change).forEach(enqueue));

/** The claims, as `namespace/name`, that a change of a sandbox concerns. */
export function claimsAffectedBy({ previous, current }: Change<Sandbox>): readonly string[] {
  const [before, now] = [previous && claimantOf(previous), current && claimantOf(current)];
  const changed = before !== now || !previous || !current || isRelevant(previous, current);
  return changed ? [...new Set([before, now])].filter((claim) => claim !== undefined) : [];
}

function isRelevant(previous: Sandbox, current: Sandbox): boolean {
  const relevantPart = ({ metadata, status }: Sandbox) => ({
    going: metadata.deletionTimestamp !== undefined,
    podIPs: status?.podIPs,
    ready: findCondition(status?.conditions, "Ready"),
    finished: findCondition(status?.conditions, "Finished"),
  });
  return !semanticallyEqual(relevantPart(previous), relevantPart(current));
}

/** Keeps the pools' queues up to date: all adoptable sandboxes at start, then each new one. */
export function followStock(sandboxes: Informer<Sandbox>, queues: AdoptionQueues): Disposable {
  for (const sandbox of sandboxes.store.list()) note({ previous: undefined, current: sandbox }, queues);
  return sandboxes.onChange((change) => note(change, queues));
}

function note({ previous, current }: Pick<Change<Sandbox>, "previous" | "current">, queues: AdoptionQueues): void {
  const before = previous && adoptableFrom(previous);
  const now = current && adoptableFrom(current);
  if (previous && before !== undefined && before !== now) queues.remove(before, keyOf(previous));
  if (!current || now === undefined) return;
  const sameNode = previous?.status?.nodeName === current.status?.nodeName;
  if (before !== now || !sameNode) queues.add(now, candidateOf(current));
}

const candidateOf = (sandbox: Stored<Sandbox>) => ({ key: keyOf(sandbox), nodeName: sandbox.status?.nodeName ?? "" });
