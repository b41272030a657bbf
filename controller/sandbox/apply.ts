import {
  type PersistentVolumeClaim,
  persistentVolumeClaimType,
  podType,
  type Service,
  serviceType,
} from "../../api/core.ts";
import { podNameAnnotation } from "../../api/keys.ts";
import { type KubeObject, keyOf, type Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import type { ResourceType } from "../../api/resource-type.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isAlreadyExists, isInvalid, isNotFound } from "../../kube/errors.ts";
import type { OwnWrites } from "../own-writes.ts";
import { type Action, type Failure, failedIn, partOf } from "./actions.ts";
import type { PassTrace } from "./pass-trace.ts";

export interface SandboxWriters {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly pods: OwnWrites<Pod, "sandboxHash">;
  readonly services: OwnWrites<Service>;
  readonly claims: OwnWrites<PersistentVolumeClaim>;
}

export interface Applied {
  readonly failures: readonly Failure[];
  readonly podCreated: boolean;
  /** A child was there already that the stores do not show. Now they do: observe and decide once more. */
  readonly clashed: boolean;
}

const fieldManager = "sandbox-controller";

/**
 * Performs the actions, claims first, then the Pod, and returns what failed: one broken child does not stop the others.
 * Only the claims stop at their first failure, and the name of a Pod that could not be made is not recorded.
 */
export async function apply(
  actions: readonly Action[],
  { sandbox, trace }: { readonly sandbox: Stored<Sandbox>; readonly trace: PassTrace },
  writers: SandboxWriters,
  signal: AbortSignal,
): Promise<Applied> {
  const failures: Failure[] = [];
  const clashes: Action[] = [];
  let podCreated = false;
  const performAll = async (some: readonly Action[] = []) => {
    for (const action of some) {
      if (isPointless(action, failures, clashes)) continue;
      try {
        const outcome = await perform(action, sandbox, writers, signal);
        if (outcome === "clashed") clashes.push(action);
        else podCreated ||= action.do === "createPod";
      } catch (cause) {
        signal.throwIfAborted();
        failures.push(toFailure(action, cause));
      }
    }
  };
  const { claims, pod, others } = Object.groupBy(actions, toStep);
  await trace.claims(() => performAll(claims));
  await trace.pod(() => performAll(pod));
  await performAll(others);
  return { failures, podCreated, clashed: clashes.length > 0 };
}

function toStep(action: Action): "claims" | "pod" | "others" {
  const part = partOf(action);
  if (part === "podName") return "pod";
  return part === "claims" || part === "pod" ? part : "others";
}

function isPointless(action: Action, failures: readonly Failure[], clashes: readonly Action[]): boolean {
  if (partOf(action) === "claims") return failedIn(failures, "claims");
  const unmade = [...failures.map((failure) => failure.action), ...clashes];
  return action.do === "recordPodName" && unmade.some((other) => other.do === "createPod");
}

class Refused extends Error {}

function toFailure(action: Action, cause: unknown): Failure {
  const untilChanged = action.do === "refuse" ? action.untilChanged : isInvalid(cause);
  return { action, message: cause instanceof Error ? cause.message : String(cause), untilChanged, cause };
}

async function perform(
  action: Action,
  sandbox: Stored<Sandbox>,
  { client, sandboxes, pods, services, claims }: SandboxWriters,
  signal: AbortSignal,
): Promise<"done" | "clashed"> {
  const to = <T extends KubeObject>(type: ResourceType<T>) => writerOf(client, type, signal);
  switch (action.do) {
    case "createClaim":
      return to(persistentVolumeClaimType).create(claims, action.claim);
    case "adoptClaim":
      return to(persistentVolumeClaimType).patch(claims, action.claim, action.patch);
    case "createPod":
      return to(podType).create(pods, action.pod);
    case "patchPod":
      return to(podType).patch(pods, action.pod, action.patch);
    case "deletePod":
      return to(podType).delete(pods, action.pod, action.mayBeGone);
    case "recordPodName":
      return to(sandboxType).patch(sandboxes, sandbox, {
        metadata: { annotations: { [podNameAnnotation]: action.name ?? null } },
      });
    case "createService":
      return to(serviceType).create(services, action.service);
    case "patchService":
      return to(serviceType).patch(services, action.service, action.patch);
    case "replaceService":
      return to(serviceType).replace(services, action.service);
    case "deleteService":
      return to(serviceType).delete(services, action.service, true);
    case "deleteSandbox":
      return to(sandboxType).delete(sandboxes, sandbox, true);
    case "refuse":
      throw new Refused(action.why);
  }
}

/** The four writes, each seen by its store at once. */
function writerOf<T extends KubeObject>(client: KubeClient, type: ResourceType<T>, signal: AbortSignal) {
  return {
    async create(store: Pick<OwnWrites<T>, "write">, object: T): Promise<"done" | "clashed"> {
      const key = keyOf(object);
      try {
        await store.write(key, () => client.create(type, object, { fieldManager }, signal));
        return "done";
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        const { namespace, name = "" } = object.metadata;
        await store.write(key, () => client.get(type, { namespace, name }, signal));
        return "clashed";
      }
    },
    async patch(store: Pick<OwnWrites<T>, "write">, { metadata }: Stored<T>, body: object): Promise<"done"> {
      const { namespace, name } = metadata;
      const call = () => client.patch(type, { namespace, name }, { type: "merge", body }, {}, signal);
      await store.write(keyOf({ metadata }), call);
      return "done";
    },
    async replace(store: Pick<OwnWrites<T>, "write">, object: Stored<T>): Promise<"done"> {
      await store.write(keyOf(object), () => client.replace(type, object, {}, signal));
      return "done";
    },
    /** The uid makes this "delete the one I saw", never "delete whatever has that name by now". */
    async delete(store: Pick<OwnWrites<T>, "delete">, object: Stored<T>, mayBeGone: boolean): Promise<"done"> {
      const { namespace, name, uid } = object.metadata;
      const options = { preconditions: { uid } };
      await store
        .delete(object, () => client.delete(type, { namespace, name }, options, signal))
        .catch((error: unknown) => {
          if (!mayBeGone || !isNotFound(error)) throw error;
        });
      return "done";
    },
  };
}
