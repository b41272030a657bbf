import { persistentVolumeClaimType, podType, serviceType } from "../../../api/kinds/core.ts";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { KubeObject, Stored } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { podNameAnnotation } from "../../../api/rules/keys.ts";
import { isInvalid } from "../../../kube/client/errors.ts";
import type { Creations } from "../../stores/creations.ts";
import {
  type Action,
  createdBy,
  type Failure,
  failedIn,
  partOf,
  type Retry,
  startsPod,
  writesToManyMax,
} from "../actions.ts";
import type { PassTrace } from "../pass-trace.ts";
import { writerOf } from "./child-writer.ts";
import { createPod, GivenUp, giveUpPatch, usedPatch } from "./create-pod.ts";
import type { SandboxWriters } from "./sandbox-writers.ts";

export interface Applied {
  readonly failures: readonly Failure[];
  readonly podCreated: boolean;
  /**
   * A child was there already that the stores do not show, or an object that was to be taken over or deleted has changed
   * meanwhile. Now the stores show it: observe and decide once more.
   */
  readonly clashed: boolean;
  /** What the API server says against a Pod that was to go on from memory: it is given up, and this counts as a clash. Absent: nothing. */
  readonly rejection?: string | undefined;
  /** Some actions are left for the next pass, which is due at once. */
  readonly unfinished: boolean;
  /** Milliseconds until a child may be created that was lost again and again; undefined: none waits. */
  readonly createInMs: number | undefined;
}

const toMany: ReadonlySet<Action["do"]> = new Set(["createClaim", "adoptClaim", "deletePod"]);

/**
 * Performs the actions, first those of the Sandbox itself, then claims, then the Pod, and returns the failures. Nothing is
 * done to the children if the Sandbox has changed, or cannot be read or deleted. One broken child does not stop the others,
 * with three exceptions. The claims stop at their first failure. No Pod is made or adopted unless every action on the claims
 * is done: it would mount the volume of another owner, or one that goes away. The name of a Pod that is not made or adopted
 * is not recorded.
 */
export async function apply(
  actions: readonly Action[],
  { sandbox, trace }: { readonly sandbox: Stored<Sandbox>; readonly trace: PassTrace },
  writers: SandboxWriters,
  signal: AbortSignal,
): Promise<Applied> {
  const failures: Failure[] = [];
  const undone: Action[] = [];
  let clashed = false;
  let podCreated = false;
  let rejection: string | undefined;
  let left = writesToManyMax;
  let unfinished = false;
  const waits = waitsToCreate(actions, sandbox, writers.creations);
  const createInMs = waits.size > 0 ? Math.min(...waits.values()) : undefined;
  const performAll = async (some: readonly Action[] = []) => {
    for (const action of some) {
      const isPutOff = left === 0 && toMany.has(action.do);
      unfinished ||= isPutOff;
      if (isPutOff || waits.has(action) || isPointless(action, failures, undone)) {
        undone.push(action);
        continue;
      }
      if (toMany.has(action.do)) left -= 1;
      try {
        const result = await perform(action, sandbox, writers, signal);
        const isDone = result !== "clashed" && !(result instanceof GivenUp);
        if (result instanceof GivenUp) rejection = result.rejection;
        if (!isDone) undone.push(action);
        clashed ||= !isDone;
        podCreated ||= isDone && action.do === "createPod";
      } catch (cause) {
        signal.throwIfAborted();
        undone.push(action);
        failures.push(toFailure(action, cause));
      }
    }
  };
  const isOneRepeated = actions.some((action) => {
    const child = createdBy(action);
    return child !== undefined && !waits.has(action) && writers.creations.isRepeated(sandbox, child);
  });
  const { self, claims, pod, others } = Object.groupBy(withConfirmation(actions, isOneRepeated), toStep);
  await performAll(self);
  if (undone.length > 0) return { failures, podCreated, clashed, unfinished, createInMs };
  await trace.claims(() => performAll(claims));
  await trace.pod(() => performAll(pod));
  await performAll(others);
  return { failures, podCreated, clashed, rejection, unfinished, createInMs };
}

/** The actions that must wait, because what they create was lost again and again. */
function waitsToCreate(
  actions: readonly Action[],
  sandbox: Stored<Sandbox>,
  creations: Creations,
): ReadonlyMap<Action, number> {
  const waits = actions.map((action) => {
    const child = createdBy(action);
    return [action, child === undefined ? 0 : creations.waitMs(sandbox, child)] as const;
  });
  return new Map(waits.filter(([, waitMs]) => waitMs > 0));
}

/**
 * A child is deleted for what its Sandbox says, which its own version does not protect: a resume or a later expiry time may be
 * accepted already. The version of the Sandbox in a `deleteSandbox` confirms the same without a read. A child is created again only for
 * a Sandbox that is still there.
 */
function withConfirmation(actions: readonly Action[], isOneRepeated: boolean): readonly Action[] {
  const deletesChild = actions.some((action) => action.do === "deletePod" || action.do === "deleteService");
  const isConfirmed = actions.some((action) => action.do === "deleteSandbox" || action.do === "confirmSandbox");
  return !isConfirmed && (deletesChild || isOneRepeated) ? [{ do: "confirmSandbox" }, ...actions] : actions;
}

function toStep(action: Action): "self" | "claims" | "pod" | "others" {
  const part = partOf(action);
  if (part === "sandbox") return "self";
  if (part === "podName") return "pod";
  return part === "claims" || part === "pod" ? part : "others";
}

function isPointless(action: Action, failures: readonly Failure[], undone: readonly Action[]): boolean {
  if (partOf(action) === "claims") return failedIn(failures, "claims");
  // Else the next Pod but one might go on from memory that was given up.
  if (startsPod(action)) return undone.some((other) => partOf(other) === "claims" || isAboutMemory(other));
  // It has the name of the one that is still there.
  if (action.do === "createService") return undone.some((other) => other.do === "deleteService");
  // The Pod proves that nothing of it has run.
  if (action.do === "deletePod") return undone.some((other) => other.do === "freeImage");
  return action.do === "recordPodName" && undone.some(startsPod);
}

const isAboutMemory = (action: Action): boolean => action.do === "giveUpImage";

class Refused extends Error {}

function toFailure(action: Action, cause: unknown): Failure {
  const message = cause instanceof Error ? cause.message : String(cause);
  return { action, message: withNameOfClaim(action, message), retry: retryOf(action, cause), cause };
}

function retryOf(action: Action, cause: unknown): Retry {
  if (action.do === "refuse") return action.untilChanged ? "never" : "soon";
  return isInvalid(cause) ? "slowly" : "soon";
}

/** A sandbox may have many claims, and an error of the network does not say which one it concerns. */
function withNameOfClaim(action: Action, message: string): string {
  if (action.do !== "createClaim" && action.do !== "adoptClaim") return message;
  const { name = "" } = action.claim.metadata;
  return message.includes(name) ? message : `PersistentVolumeClaim ${name}: ${message}`;
}

async function perform(
  action: Action,
  sandbox: Stored<Sandbox>,
  writers: SandboxWriters,
  signal: AbortSignal,
): Promise<Stored<KubeObject> | "done" | "clashed" | GivenUp> {
  const { client, creations, sandboxes, pods, services, claims, images } = writers;
  const created = () => creations.note(sandbox, createdBy(action) ?? "");
  const to = <T extends KubeObject>(type: ResourceType<T>) => writerOf(client, type, signal);
  switch (action.do) {
    case "createClaim":
      return to(persistentVolumeClaimType).create(claims, action.claim, created);
    case "adoptClaim":
      return to(persistentVolumeClaimType).patch(claims, action.claim, action.patch);
    case "createPod":
      return createPod(action, { writers, onCreated: created, signal });
    case "adoptPod":
    case "patchPod":
      return to(podType).patch(pods, action.pod, action.patch);
    case "deletePod":
      return to(podType).delete(pods, action.pod, { mayBeGone: action.mayBeGone, asSeen: action.asSeen ?? false });
    case "recordPodName":
      return to(sandboxType).patch(sandboxes, sandbox, {
        metadata: { annotations: { [podNameAnnotation]: action.name ?? null } },
      });
    case "createService":
      return to(serviceType).create(services, action.service, created);
    case "patchService":
      return to(serviceType).patch(services, action.service, action.patch);
    case "replaceService":
      return to(serviceType).replace(services, action.service);
    case "deleteService":
      return to(serviceType).delete(services, action.service, { mayBeGone: true, asSeen: true });
    case "deleteSandbox":
      return to(sandboxType).delete(sandboxes, sandbox, { mayBeGone: true, asSeen: true });
    case "confirmSandbox":
      return to(sandboxType).confirm(sandboxes, sandbox);
    case "createImage":
      return images ? to(memoryImageType).create(images, action.image, created) : "done";
    case "giveUpImage":
      return images ? to(memoryImageType).patch(images, action.image, giveUpPatch(action.image, action.why)) : "done";
    case "freeImage":
      return images ? to(memoryImageType).patch(images, action.image, usedPatch(action.image, null)) : "done";
    case "deleteImage":
      return images ? to(memoryImageType).delete(images, action.image, { mayBeGone: true, asSeen: false }) : "done";
    case "refuse":
      throw new Refused(action.why);
  }
}
