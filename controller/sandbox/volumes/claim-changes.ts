import type { PersistentVolumeClaim } from "../../../api/kinds/core.ts";
import { controllerOf, keyFor, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import { standingOf } from "../../ownership.ts";
import type { Source } from "../../start-kind.ts";
import { claimNames } from "./make-volume-claim.ts";

/**
 * Sandboxes by namespace and name of their volume claims, as an index of their informer. By name, for a claim that
 * keeps a Pod from its start may have another owner, or none.
 */
export const volumeClaimIndexes = {
  volumeClaim: (sandbox: Stored<Sandbox>): readonly string[] =>
    claimNames(sandbox).map((name) => keyFor(sandbox.metadata.namespace, name)),
};

/**
 * Enqueues each running Sandbox with one of whose volume claims something happens that may let its Pod start. The claim of a
 * suspended one that is deleted is created at its next pass, but not at once: a person may be about to put a restored
 * volume in its place. "own": the claims that the Sandbox controls, or has controlled until now; "others": all else.
 */
export function claimChanges(
  whose: "own" | "others",
  claims: Informer<PersistentVolumeClaim>,
  sandboxes: Informer<Sandbox, "volumeClaim">,
): Source {
  return (enqueue) =>
    claims.onChange(({ key, previous, current }) => {
      if (standingOf(previous) === standingOf(current)) return;
      const owners = [previous, current].map((claim) => claim && controllerOf(claim)?.uid);
      for (const sandbox of sandboxes.store.by("volumeClaim", key)) {
        const isOwn = owners.includes(sandbox.metadata.uid);
        const isAsked = isOwn === (whose === "own");
        if (isAsked && effectiveOperatingMode(sandbox.spec) === "Running") enqueue(keyOf(sandbox));
      }
    });
}
