import { podType } from "../../api/core.ts";
import { keyFor, keyOf, type Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { Store } from "../../kube/informer.ts";
import { currentBlueprint } from "../blueprint/current-blueprint.ts";
import type { View } from "../own-writes.ts";
import { recordedPodName } from "../sandbox/find-pod.ts";
import { inBatches } from "./in-batches.ts";
import { judge } from "./judge.ts";
import { memberIndexValue } from "./members.ts";
import type { Observed } from "./observed.ts";

/** Where a pool, its template and its members are looked up. */
export interface WarmPoolViews {
  readonly pools: View<SandboxWarmPool>;
  readonly templates: View<SandboxTemplate>;
  readonly sandboxes: View<Sandbox>;
  readonly labelledSandboxes: Pick<Store<Sandbox, "pool">, "by">;
}

export type StoresSeen = Pick<Observed, "pool" | "template" | "labelled">;

/** One look at the stores; undefined when there is no such pool, or it is on its way out. */
export function observe(key: string, views: WarmPoolViews): StoresSeen | undefined {
  const pool = views.pools.get(key);
  if (!pool || pool.metadata.deletionTimestamp) return undefined;
  const object = views.templates.get(keyFor(pool.metadata.namespace, pool.spec.sandboxTemplateRef.name));
  return {
    pool,
    template: object && { object, blueprint: currentBlueprint(object) },
    labelled: views.labelledSandboxes
      .by("pool", memberIndexValue(pool))
      .map((sandbox) => views.sandboxes.get(keyOf(sandbox)) ?? sandbox),
  };
}

export interface PodsSeen {
  readonly pods: Observed["pods"];
  readonly failures: readonly unknown[];
}

/** Asks the API server for the Pods of overdue members. Nobody watches Pods for pools, and few are ever asked for. */
export async function readOverduePods(observed: Observed, client: KubeClient, signal: AbortSignal): Promise<PodsSeen> {
  const overdue = observed.labelled.filter((member) => judge(member, observed).is === "overdue");
  const read = await inBatches(overdue, async (member) => {
    try {
      return { uid: member.metadata.uid, pod: await podOf(member, client, signal) };
    } catch (failure) {
      signal.throwIfAborted();
      return { failure };
    }
  });
  const found = read.flatMap((one) => ("failure" in one ? [] : [[one.uid, one.pod] as const]));
  return { pods: new Map(found), failures: read.flatMap((one) => ("failure" in one ? [one.failure] : [])) };
}

async function podOf(
  member: Stored<Sandbox>,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Stored<Pod> | undefined> {
  const { namespace, name } = member.metadata;
  try {
    return await client.get(podType, { namespace, name: recordedPodName(member) || name }, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
