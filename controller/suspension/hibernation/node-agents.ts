// Which nodes have an agent that works now.
import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { isConditionTrue } from "../../../api/rules/conditions.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Informer, Store } from "../../../kube/informer/informer.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";

/** The chart gives it to the Pods of the agents. */
const agentLabel = "app=rouse-node-agent";
/** Their service account. A Pod with the label alone is no agent. */
const agentAccount = "rouse-node-agent";

export type NodeAgents = Informer<Pod, "readyOn">;

export interface NodeAgentsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the controller, where the agents are. */
  readonly namespace: string;
}

/** Follows the Pods of the agents. */
export function startNodeAgents({ namespace, ...options }: NodeAgentsOptions): NodeAgents {
  return startInformer<Pod, "readyOn">({
    ...{ ...options, type: podType, namespace, labelSelector: agentLabel },
    indexes: { readyOn },
    transform: slimAgent,
  });
}

/** An agent that is being deleted finishes its captures, and begins none. */
function readyOn(pod: Stored<Pod>): readonly string[] {
  const { nodeName, serviceAccountName } = pod.spec ?? {};
  if (nodeName === undefined || serviceAccountName !== agentAccount) return [];
  return pod.metadata.deletionTimestamp === undefined && isConditionTrue(pod.status?.conditions, "Ready")
    ? [nodeName]
    : [];
}

function slimAgent({ metadata, spec, status }: Stored<Pod>): Stored<Pod> {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const { nodeName, serviceAccountName } = spec ?? {};
  const { conditions } = status ?? {};
  return {
    metadata: {
      ...{ name, uid, resourceVersion, creationTimestamp },
      ...(namespace !== undefined && { namespace }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    spec: {
      containers: [],
      ...(nodeName !== undefined && { nodeName }),
      ...(serviceAccountName !== undefined && { serviceAccountName }),
    },
    ...(conditions && { status: { conditions } }),
  };
}

/** Whether the agent of a node works: its Pod is Ready. The control plane says that it is not when the node is lost. */
export const hasReadyAgent = (agents: Pick<Store<Pod, "readyOn">, "by">, nodeName: string): boolean =>
  agents.by("readyOn", nodeName).length > 0;

/** Calls back with a node when its agent has become ready, or is it no longer. */
export function onReadiness(agents: Pick<NodeAgents, "onChange">, tell: (nodeName: string) => void): Disposable {
  return agents.onChange(({ previous, current }) => {
    const before = previous ? readyOn(previous) : [];
    const now = current ? readyOn(current) : [];
    if (before[0] === now[0]) return;
    for (const nodeName of [...before, ...now]) tell(nodeName);
  });
}
