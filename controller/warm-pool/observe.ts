import { podType } from "../../api/kinds/core.ts";
import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/kinds/sandbox-warm-pool.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { undefinedIfNotFound } from "../../kube/client/errors.ts";
import type { Store } from "../../kube/informer/informer.ts";
import type { Turns } from "../../lib/time/turns.ts";
import { currentBlueprint } from "../blueprint/current-blueprint.ts";
import type { View } from "../own-writes.ts";
import { recordedPodName } from "../sandbox/find-pod.ts";
import { policyGap } from "../template/policy-in-place.ts";
import { classifyMember, waitsForNode } from "./classify-member.ts";
import { inBatches } from "./in-batches.ts";
import { memberIndexValue } from "./members.ts";
import type { Observed } from "./observed.ts";

/** The stores of pools, templates and members. */
export interface WarmPoolViews {
  readonly pools: View<SandboxWarmPool>;
  readonly templates: View<SandboxTemplate>;
  readonly networkPolicies: Pick<View<NetworkPolicy>, "get">;
  readonly sandboxes: View<Sandbox>;
  readonly labelledSandboxes: Pick<Store<Sandbox, "pool">, "by">;
  readonly pods: Pick<Store<Pod>, "get">;
}

export type StoresSeen = Pick<Observed, "pool" | "template" | "policyGap" | "labelled">;

/** One read of the stores; undefined if the pool does not exist, or terminates. */
export function observe(key: string, views: WarmPoolViews): StoresSeen | undefined {
  const pool = views.pools.get(key);
  if (!pool || pool.metadata.deletionTimestamp) return undefined;
  const object = views.templates.get(keyFor(pool.metadata.namespace, pool.spec.sandboxTemplateRef.name));
  return {
    pool,
    template: object && { object, blueprint: currentBlueprint(object) },
    policyGap: object && policyGap(object, views.networkPolicies),
    labelled: views.labelledSandboxes
      .by("pool", memberIndexValue(pool))
      .map((sandbox) => views.sandboxes.get(keyOf(sandbox)) ?? sandbox),
  };
}

export interface PodsSeen {
  readonly pods: Observed["pods"];
  readonly failures: readonly unknown[];
}

export interface PodReads {
  readonly client: KubeClient;
  readonly store: WarmPoolViews["pods"];
  readonly turns?: Turns | undefined;
  /** After so many stuck members no more Pods are read: no more members are replaced in one pass. */
  readonly stuckMax: number;
}

/**
 * The Pods of overdue members. A member whose Pod waits for a node by the store stays, and costs no call: a whole pool may wait
 * like this for hours. Any other is about to be replaced, so its Pod is read from the API server: the store may lag behind.
 */
export async function readOverduePods(
  observed: Observed,
  { client, store, turns, stuckMax }: PodReads,
  signal: AbortSignal,
): Promise<PodsSeen> {
  const waiting: (readonly [string, Stored<Pod>])[] = [];
  const overdue: Stored<Sandbox>[] = [];
  for (const member of observed.labelled) {
    // To compare a large member with its template for the first time takes a tenth of a second; each later comparison is
    // fast.
    await turns?.rest(member.metadata.namespace);
    if (classifyMember(member, observed).is !== "overdue") continue;
    const known = store.get(keyFor(member.metadata.namespace, podNameOf(member)));
    if (known && waitsForNode(known)) waiting.push([member.metadata.uid, known]);
    else overdue.push(member);
  }
  let stuck = 0;
  const read = await inBatches(overdue, async (member) => {
    if (stuck >= stuckMax) return { unread: true } as const;
    try {
      const pod = await podOf(member, client, signal);
      if (!pod || !waitsForNode(pod)) stuck += 1;
      return { uid: member.metadata.uid, pod };
    } catch (failure) {
      signal.throwIfAborted();
      return { failure };
    }
  });
  const found = read.flatMap((one) => ("uid" in one ? [[one.uid, one.pod] as const] : []));
  return {
    pods: new Map([...waiting, ...found]),
    failures: read.flatMap((one) => ("failure" in one ? [one.failure] : [])),
  };
}

const podNameOf = (member: Stored<Sandbox>): string => recordedPodName(member) || member.metadata.name;

function podOf(member: Stored<Sandbox>, client: KubeClient, signal: AbortSignal): Promise<Stored<Pod> | undefined> {
  const { namespace } = member.metadata;
  return client.get(podType, { namespace, name: podNameOf(member) }, signal).catch(undefinedIfNotFound);
}
