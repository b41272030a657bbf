import { run } from "../../../../cluster/command.ts";
import { replicasOf } from "../../e2e/support/replicas.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import { eventually } from "../../support/eventually.ts";

/**
 * Waits until connections to the Services of these talkers (each as `namespace/name`) go to every activator, by kube-proxy's
 * own rules: it follows the slices in its own time, and refuses whom it knows nobody for.
 */
export async function untilLedToAll(cluster: ClusterUnderTest, ...services: readonly string[]): Promise<void> {
  await eventually(async () => {
    const rules = await run("nft", ["list", "table", "ip", "kube-proxy"]);
    const replicas = await replicasOf(cluster, "sandbox-router");
    return services.every((service) => {
      const [, chain = ""] = rules.split(`-${service}/tcp/talk {`);
      return replicas.every(({ status }) => chain.split("}\n\n", 1)[0]?.includes(`: ${status?.podIP} . `));
    });
  });
}
