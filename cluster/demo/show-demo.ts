import { describeTimeline } from "../../api/between-programs/wake-timeline.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { BuiltPrograms } from "../components.ts";
import { apiServerUrl } from "../network.ts";
import { release } from "../release/install-chart.ts";
import type { Cluster } from "../start-cluster.ts";
import { activatorUrl, helloHost, putHelloToSleep, wakeHello } from "./demonstration.ts";
import { keepMemory } from "./hibernation.ts";
import { describeAddresses, describeKeptMemory, describeNextSteps } from "./messages.ts";

export interface DemonstratedCluster extends Cluster {
  readonly programs: BuiltPrograms;
}

/**
 * The demonstration: prints the addresses, wakes a sandbox with one request, with gVisor also one whose memory was kept, and prints
 * the next commands to try.
 *
 * @throws DemonstrationFailed, CommandFailed
 */
export async function showDemo(cluster: DemonstratedCluster, clock: Clock, say: (text: string) => void): Promise<void> {
  const { kubectl, layout, programs } = cluster;
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
  if (programs.gvisor) {
    say(
      "\nThe sandbox counter runs in gVisor and counts in its memory. Suspending it, and sending one request ...\n\n",
    );
    say(describeKeptMemory(await keepMemory(kubectl, addresses.activator, clock)));
  }
  say(`\n${describeNextSteps(addresses, release, helloHost)}`);
  say("\nThe cluster keeps running. `npm run cluster -- down` removes it completely.\n");
}
