import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";

// About the time that a scheduler and a kwok node take on a busy machine.
const stepMs = 10;
const scheduled = { type: "PodScheduled", status: "True" };

/** Stands for the scheduler and the nodes: binds each Pod, and makes it ready a moment later. */
export function startNodes(client: KubeClient): AsyncDisposable {
  const pods = startInformer<Pod>({ client, type: podType, indexes: {}, clock: systemClock, log: silentLogger });
  const step = async ({ metadata: { namespace, name }, spec, status }: Stored<Pod>) => {
    if (status?.phase === "Running") return;
    await systemClock.sleep(stepMs);
    const patch = (body: object, subresource?: "status") =>
      client.patch(podType, { namespace, name }, { type: "merge", body }, subresource ? { subresource } : {});
    if (!spec?.nodeName) await patch({ spec: { nodeName: `node-${name.charCodeAt(name.length - 1) % 5}` } });
    else if (!status?.conditions) await patch({ status: { conditions: [scheduled] } }, "status");
    else {
      const conditions = [scheduled, { type: "Ready", status: "True" }];
      const ips = { podIP: "10.1.0.5", podIPs: [{ ip: "10.1.0.5" }] };
      await patch({ status: { phase: "Running", conditions, ...ips } }, "status");
    }
  };
  pods.onChange(({ current }) => {
    if (!current) return;
    step(current).catch((error: unknown) => isNotFound(error) || isConflict(error) || Promise.reject(error));
  });
  return pods;
}
