import { describeTimeline } from "../api/wake-timeline.ts";
import type { Clock } from "../lib/clock.ts";
import { activatorUrl, helloHost, putHelloToSleep, wakeHello } from "./demonstration.ts";
import { release } from "./install-chart.ts";
import { apiServerUrl } from "./network.ts";
import type { Cluster } from "./start-cluster.ts";
import { describeAddresses, describeNextSteps } from "./words.ts";

/**
 * The main job before a person's eyes: where everything is, one request that wakes a sandbox, and what to try next.
 *
 * @throws DemonstrationFailed, CommandFailed
 */
export async function tour({ kubectl, layout }: Cluster, clock: Clock, say: (text: string) => void): Promise<void> {
  const addresses = {
    api: apiServerUrl,
    activator: await activatorUrl(kubectl),
    kubeconfig: layout.kubeconfig("admin"),
    programs: layout.programs,
  };
  say(`\nA one-node Kubernetes runs on this machine, and Rouse is installed on it:\n\n${describeAddresses(addresses)}`);
  await putHelloToSleep(kubectl);
  say("\nThe sandbox hello is asleep. One request goes to it ...\n");
  const { answer, timeline } = await wakeHello(kubectl, addresses.activator, clock);
  say(`\n  "${answer}"\n\n${timeline ? describeTimeline(timeline) : ""}`);
  say(`\n${describeNextSteps(addresses, release, helloHost)}`);
  say("\nIt goes on running. `npm run cluster -- down` ends it and leaves nothing behind.\n");
}
