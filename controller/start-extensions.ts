import type { Registry } from "prom-client";
import { type NetworkPolicy, networkPolicyType } from "../api/kinds/network-policy.ts";
import { type SandboxClaim, sandboxClaimType } from "../api/kinds/sandbox-claim.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../api/kinds/sandbox-template.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../api/kinds/sandbox-warm-pool.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { createEventRecorder, type EventRecorderOptions } from "../kube/events/event-recorder.ts";
import type { Informer } from "../kube/informer/informer.ts";
import { startInformer } from "../kube/informer/start-informer.ts";
import { withoutManagedFields } from "../kube/informer/without-managed-fields.ts";
import type { Logger } from "../lib/log/log.ts";
import { firstFailure, type Running } from "../lib/process/lifecycle.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Turns } from "../lib/time/turns.ts";
import { claimIndexes } from "./claim/adoption/pool-changes.ts";
import { type ClaimInformers, startClaimController } from "./claim/start-claim-controller.ts";
import type { ClaimMetrics } from "./claim/status/claim-metrics.ts";
import type { ExtensionsConfig } from "./config/extensions-config.ts";
import type { RuntimeMetrics } from "./metrics/runtime-metrics.ts";
import type { WatchedStore } from "./stores/store-health.ts";
import { LostPolicies } from "./template/lost-policies.ts";
import { startTemplateController, type TemplateInformers } from "./template/start-template-controller.ts";
import type { Traces } from "./traces.ts";
import {
  poolIndexes,
  startWarmPoolController,
  type WarmPoolInformers,
} from "./warm-pool/start-warm-pool-controller.ts";

interface Base {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ExtensionInformers
  extends Omit<TemplateInformers, "sandboxes" | "pods">,
    Omit<WarmPoolInformers, "sandboxes" | "pods">,
    Running {
  readonly sandboxClaims: Informer<SandboxClaim, "pool">;
  /** Resolves once each of them has listed its objects. */
  readonly synced: Promise<void>;
  readonly stores: readonly WatchedStore[];
}

/** Starts the informers of templates, pools, claims and their NetworkPolicies. */
export function startExtensionInformers(options: Base): ExtensionInformers {
  const base = { ...options, indexes: {}, transform: withoutManagedFields };
  const stack = new AsyncDisposableStack();
  const templates = stack.use(startInformer<SandboxTemplate>({ ...base, type: sandboxTemplateType }));
  const pools = stack.use(
    startInformer<SandboxWarmPool, "template">({ ...base, type: sandboxWarmPoolType, indexes: poolIndexes }),
  );
  const sandboxClaims = stack.use(
    startInformer<SandboxClaim, "pool">({ ...base, type: sandboxClaimType, indexes: claimIndexes }),
  );
  const networkPolicies = stack.use(startInformer<NetworkPolicy>({ ...base, type: networkPolicyType }));
  const lostPolicies = stack.use(new LostPolicies(networkPolicies, templates.store, options.clock));
  const all = [templates, pools, sandboxClaims, networkPolicies];
  const failed = firstFailure(...all);
  return {
    templates,
    pools,
    sandboxClaims,
    networkPolicies,
    lostPolicies,
    stores: all,
    failed,
    synced: Promise.all(all.map((informer) => informer.synced)).then(() => {}),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export interface ExtensionControllersOptions extends Base {
  /** For writes that no client waits for. */
  readonly slowClient: KubeClient;
  readonly config: ExtensionsConfig;
  readonly informers: TemplateInformers & WarmPoolInformers & ClaimInformers;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly turns?: Turns | undefined;
  readonly registry: Registry;
  readonly traces: Traces;
  readonly claimMetrics: ClaimMetrics;
  /** In which domains a claim may give its Pod labels. */
  readonly labelDomains: readonly string[];
  /** Whether the API server serves `v1alpha1` of the kinds too. */
  readonly servesV1alpha1: boolean;
  /** Who writes the events: at most 128 characters. */
  readonly reportingInstance: string;
  readonly onEventDropped: NonNullable<EventRecorderOptions["onDropped"]>;
}

/** Starts the controllers of templates, warm pools and claims. The informers must have synced. */
export function startExtensionControllers(options: ExtensionControllersOptions): Running {
  const { config, slowClient: client, clock, log, reportingInstance, onEventDropped: onDropped } = options;
  const stack = new AsyncDisposableStack();
  const recorder = (reportingController: string) =>
    stack.use(createEventRecorder({ client, clock, log, reportingController, reportingInstance, onDropped }));
  const templates = stack.use(
    startTemplateController({
      ...options,
      events: recorder("sandboxtemplate-controller"),
      workers: config.templateWorkers,
    }),
  );
  const pools = stack.use(
    startWarmPoolController({
      ...options,
      client,
      events: recorder("sandboxwarmpool-controller"),
      workers: config.warmPoolWorkers,
      settings: config.warmPools,
    }),
  );
  const claims = stack.use(
    startClaimController({
      ...options,
      events: config.claimEvents ? recorder("sandboxclaim-controller") : undefined,
      metrics: options.claimMetrics,
      workers: config.claimWorkers,
      writesNotes: config.claimNotes,
    }),
  );
  const failed = firstFailure(templates, pools, claims);
  return { failed, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
