import { describeTimeline } from "../../api/protocols/wake-timeline.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { apiServerUrl } from "../network.ts";
import { release } from "../release/install-chart.ts";
import type { Cluster } from "../start-cluster.ts";
import { activatorUrl, helloHost, putHelloToSleep, wakeHello } from "./demonstration.ts";
import { describeAddresses, describeNextSteps } from "./messages.ts";

/**
 * The demonstration: prints the addresses, wakes a sandbox with one request, and prints the next commands to try.
 *
 * @throws DemonstrationFailed, CommandFailed
 */
export async function showDemo({ kubectl, layout }: Cluster, clock: Clock, say: (text: string) => void): Promise<void> {
  const addresses = {
    api: apiServerUrl,
    activator: await activatorUrl(kubectl),
    kubeconfig: layout.kubeconfig("admin"),
    programs: layout.programs,
  };
  say(`\nA one-node Kubernetes runs on this machine, and Rouse is installed on it:\n\n${describeAddresses(addresses)}`);
  await putHelloToSleep(kubectl);
  say("\nThe sandbox hello is suspended. Sending one request ...\n");
  const { answer, timeline } = await wakeHello(kubectl, addresses.activator, clock);
  say(`\n  "${answer}"\n\n${timeline ? describeTimeline(timeline) : ""}`);
  say(`\n${describeNextSteps(addresses, release, helloHost)}`);
  say("\nThe cluster keeps running. `npm run cluster -- down` removes it completely.\n");
}
