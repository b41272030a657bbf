import { run } from "../../../../cluster/command.ts";
import { replicasOf } from "../../e2e/support/replicas.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import { eventually } from "../../support/eventually.ts";

/**
 * Waits until connections to the Service of a talker (as `namespace/name`) go to every activator, by kube-proxy's own rules:
 * kube-proxy follows the EndpointSlices with a delay, and refuses connections to a Service without endpoints.
 */
export async function untilLedToAll(cluster: ClusterUnderTest, service: string): Promise<void> {
  await eventually(async () => {
    const [, chain = ""] = (await run("nft", ["list", "table", "ip", "kube-proxy"])).split(`-${service}/tcp/talk {`);
    const replicas = await replicasOf(cluster, "sandbox-router");
    return replicas.every(({ status }) => chain.split("}\n\n", 1)[0]?.includes(`: ${status?.podIP} . `));
  });
}
