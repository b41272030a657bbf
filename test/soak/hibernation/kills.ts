import { setTimeout as delay } from "node:timers/promises";
import type { Pod } from "../../../api/kinds/core.ts";
import { podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { foundations } from "../../../cluster/components.ts";
import { findDaemon } from "../../../cluster/daemon.ts";
import { settingsFiles } from "../../../cluster/settings.ts";
import { insideOf, startComponent } from "../../../cluster/start-component.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { killProgramOf, replicasOf } from "../../kubernetes/e2e/support/replicas.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import type { Findings } from "../findings.ts";
import { mountKeeper, type SoakCluster } from "./soak-cluster.ts";

const victims = ["rouse-node-agent", "agent-sandbox-controller", "sandbox-router", "containerd"] as const;
type Victim = (typeof victims)[number];

const leastPauseMs = 3_000;
const morePauseMs = 21_000;
const longestOutageMs = 3_000;

/** Kills programs at random moments, one after the other. */
export class Kills {
  readonly #cluster: SoakCluster;
  readonly #random: SeededRandom;
  readonly #findings: Findings;
  readonly #counts = new Map<Victim, number>();

  constructor(cluster: SoakCluster, random: SeededRandom, findings: Findings) {
    this.#cluster = cluster;
    this.#random = random;
    this.#findings = findings;
  }

  /** How often that program was killed so far. */
  of(victim: Victim): number {
    return this.#counts.get(victim) ?? 0;
  }

  /** Until the signal. What was killed runs again then, or is being started by its kubelet. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(leastPauseMs + this.#random.below(morePauseMs), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const victim = this.#random.oneOf(victims);
      this.#counts.set(victim, this.of(victim) + 1);
      this.#findings.count(`kills of ${victim}`);
      const kill = victim === "containerd" ? this.#killContainerd() : this.#killReplica(victim);
      await kill.catch((error: unknown) => this.#findings.count(`could not kill ${victim}: ${String(error)}`));
    }
  }

  async #killContainerd(): Promise<void> {
    const { layout, programs } = this.#cluster;
    const daemon = findDaemon(layout, "containerd");
    if (daemon) process.kill(daemon.pid, "SIGKILL");
    await delay(this.#random.below(longestOutageMs));
    await startContainerd(this.#cluster, settingsFiles(layout, programs.gvisor));
  }

  async #killReplica(app: Exclude<Victim, "containerd">): Promise<void> {
    const replicas = await replicasOf(this.#cluster, app);
    const pod = replicas[this.#random.below(replicas.length)];
    if (!pod) throw new Error("it has no replica");
    if (isInBackOff(pod)) await this.#replace(pod);
    else killProgramOf(pod);
  }

  /** The kubelet waits ever longer before it starts a container again that was killed. A new Pod has no such wait. */
  async #replace({ metadata: { namespace, name, uid } }: Stored<Pod>): Promise<void> {
    await this.#cluster.client.delete(podType, { namespace, name }, { preconditions: { uid }, gracePeriodSeconds: 0 });
  }
}

const restartsMax = 2;

const isInBackOff = ({ status }: Stored<Pod>): boolean =>
  status?.containerStatuses?.some(({ restartCount = 0, state }) => restartCount >= restartsMax || state?.waiting) ??
  false;

async function startContainerd(
  { layout, programs }: SoakCluster,
  settings: ReturnType<typeof settingsFiles>,
): Promise<void> {
  const containerd = foundations(layout, programs).find(({ name }) => name === "containerd");
  if (!containerd) throw new Error("the cluster has no containerd");
  await startComponent(containerd, { inside: insideOf(layout, mountKeeper(layout)), settings, clock: systemClock });
}
