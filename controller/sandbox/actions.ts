import type { PersistentVolumeClaim, Service } from "../../api/kinds/core.ts";
import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { ImageAction } from "../suspension/hibernation/decide-images.ts";
import type { LossReason, MemorySource } from "../suspension/hibernation/restore.ts";

/** The part of a sandbox that an action concerns; a failure in one part does not stop the others. */
export type Part = "claims" | "pod" | "podName" | "service" | "sandbox" | "memory";

type MergePatch = Readonly<Record<string, unknown>>;

export type Action =
  | { readonly do: "createClaim"; readonly claim: PersistentVolumeClaim }
  | { readonly do: "adoptClaim"; readonly claim: Stored<PersistentVolumeClaim>; readonly patch: MergePatch }
  /** `from`: what it goes on from. It has a gate until it is signed, once it has a UID and its image is as it was decided on. */
  | { readonly do: "createPod"; readonly pod: Pod; readonly from?: MemorySource }
  | { readonly do: "adoptPod"; readonly pod: Stored<Pod>; readonly patch: MergePatch }
  | { readonly do: "patchPod"; readonly pod: Stored<Pod>; readonly patch: MergePatch }
  /** `asSeen`: not if it has changed since, as by the scheduler. */
  | { readonly do: "deletePod"; readonly pod: Stored<Pod>; readonly mayBeGone: boolean; readonly asSeen?: true }
  /** No Pod may go on from this memory any more. */
  | { readonly do: "giveUpImage"; readonly image: Stored<MemoryImage>; readonly why: LossReason }
  /** The Pod that it was promised to has never run. */
  | { readonly do: "freeImage"; readonly image: Stored<MemoryImage> }
  | ImageAction
  /** Undefined removes the annotation. */
  | { readonly do: "recordPodName"; readonly name: string | undefined }
  | { readonly do: "createService"; readonly service: Service }
  | { readonly do: "patchService"; readonly service: Stored<Service>; readonly patch: MergePatch }
  | { readonly do: "replaceService"; readonly service: Stored<Service> }
  | { readonly do: "deleteService"; readonly service: Stored<Service> }
  | { readonly do: "deleteSandbox" }
  /** The sandbox must still be as it was decided on: then its children may be deleted because of it. */
  | { readonly do: "confirmSandbox" }
  /** Nothing may be done, for this reason. `untilChanged`: the controller knows that a retry without a change is useless. */
  | { readonly do: "refuse"; readonly part: Part; readonly why: string; readonly untilChanged: boolean };

/** What may fail: an action, or the handshake that removes the Pod, which precedes all actions. */
export type Attempt = Action | { readonly do: "suspend" };

/**
 * The number of writes in one pass to children of which a sandbox may have any number: volume claims, and Pods that it
 * loses. A tenant can ask for a thousand, and a pass occupies a worker. More are written in the next pass, after those of
 * other sandboxes.
 */
export const writesToManyMax = 10;

const parts: Readonly<Record<Exclude<Attempt["do"], "refuse">, Part>> = {
  createClaim: "claims",
  adoptClaim: "claims",
  createPod: "pod",
  adoptPod: "pod",
  patchPod: "pod",
  deletePod: "pod",
  giveUpImage: "pod",
  freeImage: "pod",
  createImage: "memory",
  deleteImage: "memory",
  suspend: "pod",
  recordPodName: "podName",
  createService: "service",
  patchService: "service",
  replaceService: "service",
  deleteService: "service",
  deleteSandbox: "sandbox",
  confirmSandbox: "sandbox",
};

export const partOf = (action: Attempt): Part => (action.do === "refuse" ? action.part : parts[action.do]);

/** The child that an action creates; undefined: none. */
export function createdBy(action: Action): string | undefined {
  switch (action.do) {
    case "createClaim":
      return `volume claim ${action.claim.metadata.name}`;
    case "createPod":
      return `Pod ${action.pod.metadata.name}`;
    case "createService":
      return `Service ${action.service.metadata.name}`;
    case "createImage":
      return `MemoryImage ${action.image.metadata.name}`;
    default:
      return undefined;
  }
}

/** Whether an action makes a Pod the Pod of the sandbox, with the volumes of its claims. */
export const startsPod = ({ do: what }: Attempt): boolean => what === "createPod" || what === "adoptPod";

/**
 * How an action that failed is retried while no object changes. `slowly`: the API server rejected what was asked for. It will most likely
 * do so again, but its admission policies may change. `never`: the controller itself knows that it is useless.
 */
export type Retry = "soon" | "slowly" | "never";

export interface Failure {
  readonly action: Attempt;
  readonly message: string;
  readonly retry: Retry;
  readonly cause?: unknown;
}

/** Whether a failure concerns this part. */
export const failedIn = (failures: readonly Failure[], part: Part): boolean =>
  failures.some(({ action }) => partOf(action) === part);
