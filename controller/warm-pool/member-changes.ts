import { keyFor, type Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { Change, Informer } from "../../kube/informer/informer.ts";
import type { Source } from "../start-kind.ts";
import { controllingPool, expectationsKey } from "./members.ts";
import type { Expectations } from "./resize/expectations.ts";

/** Pools whose members change. Expectations are updated first, so that the reconcile of the pool sees them. */
export const memberChanges =
  (sandboxes: Pick<Informer<Sandbox>, "onChange">, expectations: Expectations): Source =>
  (enqueue) =>
    sandboxes.onChange((change) => {
      noteObserved(change, expectations);
      const keys = [change.previous, change.current].flatMap((sandbox) => (sandbox ? poolKeys(sandbox) : []));
      new Set(keys).forEach(enqueue);
    });

/** The pool that a sandbox belongs to, if it belongs to one. */
export function poolKeys(sandbox: Stored<Sandbox>): readonly string[] {
  const pool = controllingPool(sandbox);
  return pool ? [keyFor(sandbox.metadata.namespace, pool.name)] : [];
}

function noteObserved({ previous, current }: Change<Sandbox>, expectations: Expectations): void {
  const member = current ?? previous;
  const pool = member && controllingPool(member);
  if (!pool) return;
  const owner = expectationsKey(member.metadata.namespace, pool.uid);
  if (!previous) expectations.lowerCreations(owner);
  // From now on the store itself shows that it goes.
  if (!current || current.metadata.deletionTimestamp) expectations.deletionObserved(owner, member.metadata.uid);
}
