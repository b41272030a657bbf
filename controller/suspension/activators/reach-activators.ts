import type { Registry } from "prom-client";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { firstFailure } from "../../../lib/process/lifecycle.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Activators } from "../start-suspending.ts";
import { countDrainCalls } from "./count-drain-calls.ts";
import { startDrainCertificates } from "./drain-certificates.ts";
import { drainCalls } from "./drain-client.ts";
import { type ActivatorsConfig, startActivatorFinder } from "./find-activators.ts";
import { usualSilenceLimitMs } from "./silence.ts";

export interface ReachParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** The activators, if they are known in advance. */
  readonly activators?: Activators;
  /** Ends the start while the API server is away. */
  readonly stop?: AbortSignal | undefined;
}

/** How the activators are found; undefined if none are configured. */
interface ReachedActivators extends Activators {
  readonly synced?: Promise<void>;
  readonly failed?: Promise<never>;
  /** Ours; PEM. */
  readonly certificate?: () => string;
}

export async function reachActivators(
  stack: AsyncDisposableStack,
  config: ActivatorsConfig | undefined,
  { client, clock, log, registry, activators: given, stop }: ReachParts,
): Promise<ReachedActivators | undefined> {
  if (given || !config) return given;
  const certificates = stack.use(
    await startDrainCertificates({ client, clock, log, namespace: config.namespace, stop }),
  );
  const finder = stack.use(startActivatorFinder({ client, clock, log, config }));
  const failed = firstFailure(finder, certificates);
  const call = countDrainCalls(drainCalls(certificates.current, clock), registry);
  const { vanishGraceMs, silenceLimitMs = usualSilenceLimitMs } = config;
  const certificate = () => certificates.current().certificate;
  return { finder, call, vanishGraceMs, silenceLimitMs, synced: finder.synced, failed, certificate };
}
