import { effectiveOperatingMode } from "../../api/defaults.ts";
import { podNameAnnotation } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import { mayHaveNextPod } from "../suspension/decide-suspension.ts";
import type { Action } from "./actions.ts";
import { adoptedBy, isAdoptable, refusalToAdopt } from "./adoption.ts";
import { type FoundPod, findPod, recordedPodName } from "./find-pod.ts";
import { makePod } from "./make-pod.ts";
import type { Observed, WriteBehind } from "./observed.ts";
import { podMetadataPatch } from "./pod-metadata.ts";

export interface PodDecision {
  readonly actions: readonly Action[];
  /** A change of the Pod's metadata was put off; look again after so many milliseconds. */
  readonly putOffMs?: number;
}

// The promise to whoever reads a Pod's labels, however long a window was asked for.
const longestWriteBehindMs = 1_000;

export const severalPods = (count: number): string =>
  `multiple Pods (${count}) are controlled by this Sandbox; refusing to choose or create a Pod`;

/** What is to be done about the Pod of a sandbox that has not expired. */
export function decidePod(observed: Observed): PodDecision {
  const found = findPod(observed);
  if (found.found === "several") return { actions: [{ ...refuse(severalPods(found.count)), untilChanged: true }] };
  if (effectiveOperatingMode(observed.sandbox.spec) === "Suspended") return { actions: suspend(observed, found) };
  if (mayHaveNextPod(observed.sandbox)) return run(observed, found);
  // What is doomed is kept as it is until it is gone, and the next one is made after that.
  return found.found === "owned" ? keep(observed, found.pod) : { actions: [] };
}

type OnePod = Exclude<FoundPod, { found: "several" }>;

function suspend(observed: Observed, found: OnePod): readonly Action[] {
  if (observed.suspending) return [];
  // A Pod that is not ours is nobody's to delete, and no longer the sandbox's to name.
  if (found.found !== "owned") return recordName(observed, undefined);
  const { pod } = found;
  const stillNamed = recordedPodName(observed.sandbox) === pod.metadata.name;
  return [...deletePod(pod), ...(stillNamed ? [] : recordName(observed, undefined))];
}

/** A Pod on its way is left to go: its own grace period is running. */
const deletePod = (pod: Stored<Pod>): readonly Action[] =>
  pod.metadata.deletionTimestamp ? [] : [{ do: "deletePod", pod, mayBeGone: false }];

function run(observed: Observed, found: OnePod): PodDecision {
  const { sandbox } = observed;
  switch (found.found) {
    case "none":
      return { actions: create(observed) };
    case "owned":
      return keep(observed, found.pod);
    case "foreign":
      return { actions: [...recordName(observed, undefined), refuse(refusalToAdopt("Pod", found.pod))] };
    case "unowned":
      return { actions: isAdoptable(found.pod, sandbox) ? adopt(observed, found.pod) : leave(observed, found.pod) };
  }
}

function create(observed: Observed): readonly Action[] {
  const pod = makePod(observed.sandbox);
  const { name = "" } = pod.metadata;
  // A name that is wrong goes first, so that a Pod that cannot be made leaves none behind. When it is right already,
  // nothing stands between the wish to run and the Pod.
  const wrong = recordedPodName(observed.sandbox) === name ? [] : recordName(observed, undefined);
  return [...wrong, { do: "createPod", pod }, ...recordName(observed, name)];
}

/** The spec of a Pod is never changed: an edited template takes effect in the next Pod. */
function keep(observed: Observed, pod: Stored<Pod>): PodDecision {
  const metadata = podMetadataPatch(observed.sandbox, pod);
  const name = recordName(observed, pod.metadata.name);
  if (!metadata) return { actions: name };
  const putOffMs = leftToWaitMs(observed.writeBehind);
  if (putOffMs > 0) return { actions: name, putOffMs };
  return { actions: [{ do: "patchPod", pod, patch: { metadata } }, ...name] };
}

function leftToWaitMs({ windowMs, waitedMs = 0 }: WriteBehind): number {
  return Math.min(windowMs, longestWriteBehindMs) - waitedMs;
}

function adopt(observed: Observed, pod: Stored<Pod>): readonly Action[] {
  const { sandbox } = observed;
  const metadata = { ...podMetadataPatch(sandbox, pod), ownerReferences: adoptedBy(sandbox, pod) };
  return [{ do: "patchPod", pod, patch: { metadata } }, ...recordName(observed, pod.metadata.name)];
}

function leave(observed: Observed, pod: Stored<Pod>): readonly Action[] {
  const recorded = recordedPodName(observed.sandbox);
  const stale = recorded !== "" && recorded !== pod.metadata.name;
  return [...(stale ? recordName(observed, undefined) : []), refuse(refusalToAdopt("Pod", pod))];
}

const refuse = (why: string): Extract<Action, { do: "refuse" }> => ({
  do: "refuse",
  part: "pod",
  why,
  untilChanged: false,
});

/** Brings the annotation to this name, or takes it off; nothing when it says so already. */
function recordName({ sandbox }: Observed, name: string | undefined): readonly Action[] {
  const recorded = sandbox.metadata.annotations?.[podNameAnnotation];
  return recorded === name ? [] : [{ do: "recordPodName", name }];
}
