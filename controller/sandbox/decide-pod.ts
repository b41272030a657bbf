import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { podNameAnnotation, withdrawnAnnotation } from "../../api/rules/keys.ts";
import { mayHaveNextPod } from "../../api/rules/suspension.ts";
import { hasRoundedInteger, longIntegersMax } from "../../lib/data/exact-json.ts";
import { restoredFrom, usedBy } from "../suspension/hibernation/images.ts";
import {
  isUnsigned,
  type LossReason,
  nextPodOf,
  outlived,
  restoreWaitOf,
  waitsForSignature,
} from "../suspension/hibernation/restore.ts";
import type { Action } from "./actions.ts";
import { adoptedBy, isAdoptable, refusalToAdopt } from "./adoption.ts";
import { type FoundPod, findPod, ownedPods, recordedPodName } from "./find-pod.ts";
import { makePod } from "./make-pod.ts";
import type { Observed, WriteBehind } from "./observed.ts";
import { podMetadataPatch } from "./pod-metadata.ts";
import { hasTooManyClaims } from "./volumes/make-volume-claim.ts";

export interface PodDecision {
  readonly actions: readonly Action[];
  /** Milliseconds until a deferred change of the Pod's metadata is rechecked. */
  readonly putOffMs?: number;
}

// Upper limit of the write-behind window, so that readers of a Pod's labels wait no longer.
const longestWriteBehindMs = 1_000;

export const severalPods = (count: number): string =>
  `multiple Pods (${count}) are controlled by this Sandbox; refusing to choose or create a Pod`;

/** Whether a Pod may have to be created: it runs and has none, by name or control. */
export const mayCreatePod = (seen: Pick<Observed, "sandbox" | "pods" | "moreOwnPods">): boolean =>
  mayHaveNextPod(seen.sandbox) && findPod(seen).found === "none";

/** What to do about the Pod of a sandbox that has not expired. */
export function decidePod(observed: Observed): PodDecision {
  const decision = decideFound(observed);
  return { ...decision, actions: [...giveUpBesideOwned(observed), ...decision.actions] };
}

/**
 * A Pod that somebody has made for the sandbox lives, or will, and no memory from before it may come back. A sandbox that sleeps does not use it, so
 * there it only counts once it has a node. Of memory that the status does not tell of, the MemoryImage is deleted.
 */
function giveUpBesideOwned(observed: Observed): readonly Action[] {
  const { sandbox, memory } = observed;
  if (!memory || sandbox.status?.hibernation?.state !== "Hibernated") return [];
  const sleeps = effectiveOperatingMode(sandbox.spec) === "Suspended";
  const lives = ownedPods(observed).filter((pod) => !isUnsigned(pod) && (!sleeps || pod.spec?.nodeName));
  return outlived(sandbox, lives, memory).map(giveUp);
}

const giveUp = ({ image, why }: { readonly image: Stored<MemoryImage>; readonly why: LossReason }): Action => ({
  do: "giveUpImage",
  image,
  why,
});

function decideFound(observed: Observed): PodDecision {
  const found = findPod(observed);
  if (found.found === "several") return { actions: [{ ...refuse(severalPods(found.count)), untilChanged: true }] };
  if (effectiveOperatingMode(observed.sandbox.spec) === "Suspended") return { actions: suspend(observed, found) };
  if (mayHaveNextPod(observed.sandbox)) return run(observed, found);
  // A sealed Pod is kept until it is gone; the next Pod is created after that.
  return found.found === "owned" ? keep(observed, found.pod) : { actions: [] };
}

type OnePod = Exclude<FoundPod, { found: "several" }>;

function suspend(observed: Observed, found: OnePod): readonly Action[] {
  if (observed.suspending) return [];
  // A Pod of another owner is never deleted, and the sandbox no longer names it.
  if (found.found !== "owned") return recordName(observed, undefined);
  const { pod } = found;
  const stillNamed = recordedPodName(observed.sandbox) === pod.metadata.name;
  return [...deletePod(pod), ...(stillNamed ? [] : recordName(observed, undefined))];
}

/** A terminating Pod is left alone: its own grace period is running. */
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
  // The refusal of its claims says why it gets no Pod.
  if (hasTooManyClaims(observed.sandbox)) return recordName(observed, undefined);
  const { pod, from, unusable } = nextPodOf(observed.sandbox, makePod(observed.sandbox), observed.memory);
  const { name = "" } = pod.metadata;
  // A wrong Pod name is removed first, so that it does not stay if the new Pod cannot be created. If the name is right,
  // the Pod is created at once.
  const wrong = recordedPodName(observed.sandbox) === name ? [] : recordName(observed, undefined);
  if (observed.policyGap !== undefined) return [...wrong, refuse(observed.policyGap)];
  // The Pod would have other values than the Sandbox.
  if (hasRoundedInteger(pod.spec)) return [...wrong, { ...refuse(rounded), untilChanged: true }];
  return [
    ...wrong,
    ...unusable.map(giveUp),
    { do: "createPod", pod, ...(from && { from }) },
    ...recordName(observed, name),
  ];
}

const rounded = `Pod is not created: more than ${longIntegersMax} integers of the Sandbox are beyond 2^53, so they were rounded`;

/** The spec of a Pod is never changed: an edited template takes effect in the next Pod. */
function keep(observed: Observed, pod: Stored<Pod>): PodDecision {
  // A Pod is signed in the pass that creates it, or never. So nobody gets a signature for a Pod of their own.
  if (waitsForSignature(pod)) return { actions: deleteUnsigned(observed, pod) };
  const replaced = replaceLate(observed, pod);
  if (replaced) return { actions: replaced };
  const metadata = podMetadataPatch(observed.sandbox, pod);
  const name = recordName(observed, pod.metadata.name);
  if (!metadata) return { actions: name };
  const putOffMs = leftToWaitMs(observed.writeBehind);
  if (putOffMs > 0) return { actions: name, putOffMs };
  return { actions: [{ do: "patchPod", pod, patch: { metadata } }, ...name] };
}

/**
 * A Pod with its gate has never run. If an image was promised to it, another Pod may have that. The Pod proves it, so it goes last. Before the
 * promise is taken back the Pod is changed: a leader that stands still between the promise and the signature has the version of before.
 */
function deleteUnsigned({ memory }: Observed, pod: Stored<Pod>): readonly Action[] {
  const { uid, resourceVersion, annotations } = pod.metadata;
  const promised = memory?.images.find((image) => usedBy(image) === uid);
  const deletion = { do: "deletePod", pod, mayBeGone: true, asSeen: true } as const;
  if (!promised) return [deletion];
  if (annotations?.[withdrawnAnnotation] !== undefined) return [{ do: "freeImage", image: promised }, deletion];
  const metadata = { resourceVersion, annotations: { [withdrawnAnnotation]: "true" } };
  return [{ do: "patchPod", pod, patch: { metadata } }];
}

/**
 * A Pod that was to be restored and does not begin to run. The memory is given up before it is deleted, so the next one starts anew, and may run
 * anywhere. Without a provider nobody knows for how long it has waited, and it can get no memory that the status would tell of. So it is replaced at
 * once where somebody says no: the scheduler of its node, or the kubelet of an image.
 */
function replaceLate({ memory }: Observed, pod: Stored<Pod>): readonly Action[] | undefined {
  const wait = restoreWaitOf(pod, memory?.images ?? []);
  if (!wait) return undefined;
  if (memory ? memory.waitedMs < wait.limitMs : wait.for !== "image" && wait.for !== "node") return undefined;
  const image = memory?.images.find(({ metadata }) => metadata.name === restoredFrom(pod.metadata));
  const gone = image ? [giveUp({ image, why: wait.why })] : [];
  return [...gone, { do: "deletePod", pod, mayBeGone: true, asSeen: true }];
}

function leftToWaitMs({ windowMs, waitedMs = 0 }: WriteBehind): number {
  return Math.min(windowMs, longestWriteBehindMs) - waitedMs;
}

function adopt(observed: Observed, pod: Stored<Pod>): readonly Action[] {
  const { sandbox, memory } = observed;
  const metadata = { ...podMetadataPatch(sandbox, pod), ...adoptedBy(sandbox, pod) };
  return [
    ...outlived(sandbox, [pod], memory).map(giveUp),
    { do: "adoptPod", pod, patch: { metadata } },
    ...recordName(observed, pod.metadata.name),
  ];
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

/** Sets or removes the annotation; no action when it is right already. */
function recordName({ sandbox }: Observed, name: string | undefined): readonly Action[] {
  const recorded = sandbox.metadata.annotations?.[podNameAnnotation];
  return recorded === name ? [] : [{ do: "recordPodName", name }];
}
