import type { PersistentVolumeClaim, Service } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";

/** The part of a sandbox that an action is about; a failure in one does not stop the others. */
export type Part = "claims" | "pod" | "podName" | "service" | "sandbox";

type MergePatch = Readonly<Record<string, unknown>>;

export type Action =
  | { readonly do: "createClaim"; readonly claim: PersistentVolumeClaim }
  | { readonly do: "adoptClaim"; readonly claim: Stored<PersistentVolumeClaim>; readonly patch: MergePatch }
  | { readonly do: "createPod"; readonly pod: Pod }
  | { readonly do: "patchPod"; readonly pod: Stored<Pod>; readonly patch: MergePatch }
  | { readonly do: "deletePod"; readonly pod: Stored<Pod>; readonly mayBeGone: boolean }
  /** Undefined takes the annotation off. */
  | { readonly do: "recordPodName"; readonly name: string | undefined }
  | { readonly do: "createService"; readonly service: Service }
  | { readonly do: "patchService"; readonly service: Stored<Service>; readonly patch: MergePatch }
  | { readonly do: "replaceService"; readonly service: Stored<Service> }
  | { readonly do: "deleteService"; readonly service: Stored<Service> }
  | { readonly do: "deleteSandbox" }
  /** Nothing may be done, and this is why. `untilChanged`: looking again later without a change is of no use. */
  | { readonly do: "refuse"; readonly part: Part; readonly why: string; readonly untilChanged: boolean };

const parts: Readonly<Record<Exclude<Action["do"], "refuse">, Part>> = {
  createClaim: "claims",
  adoptClaim: "claims",
  createPod: "pod",
  patchPod: "pod",
  deletePod: "pod",
  recordPodName: "podName",
  createService: "service",
  patchService: "service",
  replaceService: "service",
  deleteService: "service",
  deleteSandbox: "sandbox",
};

export const partOf = (action: Action): Part => (action.do === "refuse" ? action.part : parts[action.do]);

export interface Failure {
  readonly action: Action;
  readonly message: string;
  /** Trying again cannot help before something changes: the API server refused the child itself, or a person must choose. */
  readonly untilChanged: boolean;
  readonly cause?: unknown;
}

/** Whether any failure was in this part. */
export const failedIn = (failures: readonly Failure[], part: Part): boolean =>
  failures.some(({ action }) => partOf(action) === part);
