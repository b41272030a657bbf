import { type KubeObject, keyFor, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import { standingOf } from "../../ownership.ts";
import type { Source } from "../../start-kind.ts";
import { recordedPodName } from "../find-pod.ts";

/** Sandboxes by namespace and name of the Pods and the Service that they may have, as an index of their informer. */
export const childNameIndexes = {
  childName: (sandbox: Stored<Sandbox>): readonly string[] => {
    const { name, namespace } = sandbox.metadata;
    return [...new Set([name, recordedPodName(sandbox) || name])].map((each) => keyFor(namespace, each));
  },
};

/**
 * Enqueues each Sandbox when an object that is not its own takes or leaves the name of one of its children. It says in its status that
 * the name is taken, and goes on once it is free.
 */
export const namesakeChanges =
  <T extends KubeObject>(children: Informer<T>, sandboxes: Informer<Sandbox, "childName">): Source =>
  (enqueue) =>
    children.onChange(({ key, previous, current }) => {
      // Most objects of a cluster have the name of no Sandbox.
      const namesakes = sandboxes.store.by("childName", key);
      if (namesakes.length === 0 || standingOf(previous) === standingOf(current)) return;
      for (const sandbox of namesakes) enqueue(keyOf(sandbox));
    });
