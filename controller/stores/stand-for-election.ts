import { Gauge, type Registry } from "prom-client";
import { leaderLeaseName } from "../../api/rules/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { startLeaderElection } from "../../kube/leader/leader-election.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { ConfigError, type ControllerConfig } from "../config/config.ts";
import type { StoreHealth } from "./store-health.ts";

interface ElectionParts {
  readonly client: KubeClient;
  readonly leaseClient?: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly identity: string;
}

export interface Leadership {
  readonly elected: Promise<void>;
  /** Rejects if the lease is lost. */
  readonly lost: Promise<never>;
  /** Absent where every replica leads. See `LeaderElection`. */
  readonly confirm?: () => void;
}

/**
 * Takes part in the leader election, if there is one; else every replica leads. The election ends with `stack`.
 *
 * @throws ConfigError if the lease has no namespace.
 */
export function standForElection(
  stack: AsyncDisposableStack,
  { leaderElection }: ControllerConfig,
  { client: shared, leaseClient: client = shared, clock, log, registry, identity }: ElectionParts,
  fitness: StoreHealth,
): Leadership {
  if (!leaderElection) return { elected: Promise.resolve(), lost: new Promise(() => {}) };
  const { namespace, times } = leaderElection;
  if (!namespace) {
    throw new ConfigError("not running in a Pod: give --leader-election-namespace, or --leader-elect=false");
  }
  const election = stack.use(
    startLeaderElection({ client, clock, log, namespace, name: leaderLeaseName, identity, times, fitness }),
  );
  new Gauge({
    name: "leader_election_master_status",
    help: "1 while this replica is the leader.",
    labelNames: ["name"],
    registers: [registry],
    collect() {
      this.set({ name: leaderLeaseName }, election.isLeader() ? 1 : 0);
    },
  });
  return election;
}
