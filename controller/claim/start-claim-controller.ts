import { keyOf } from "../../api/meta.ts";
import type { NetworkPolicy } from "../../api/network-policy.ts";
import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Informer } from "../../kube/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { OwnWrites } from "../own-writes.ts";
import type { RuntimeMetrics } from "../runtime-metrics.ts";
import { keysFrom, type Source, startKind } from "../start-kind.ts";
import type { Traces } from "../traces.ts";
import { Adopter } from "./adopter.ts";
import { AdoptionQueues } from "./adoption-queue.ts";
import type { ClaimMetrics } from "./claim-metrics.ts";
import { ClaimWrites } from "./claim-writes.ts";
import { isTimed } from "./first-ready.ts";
import { FirstSights } from "./first-sights.ts";
import { claimsOfPools, claimsOfTemplates } from "./pool-changes.ts";
import { claimantOf } from "./pool-membership.ts";
import { ClaimReconciler } from "./reconciler.ts";
import { claimsOfSandboxes, followStock } from "./sandbox-changes.ts";

export interface ClaimInformers {
  readonly sandboxClaims: Informer<SandboxClaim, "pool">;
  readonly sandboxes: Informer<Sandbox, "controllerUid">;
  readonly pools: Informer<SandboxWarmPool, "template">;
  readonly templates: Informer<SandboxTemplate>;
  readonly pods: Informer<Pod>;
  readonly networkPolicies: Informer<NetworkPolicy>;
}

export interface ClaimControllerOptions {
  readonly client: KubeClient;
  /** For what nobody waits for. */
  readonly slowClient: KubeClient;
  readonly informers: ClaimInformers;
  /** Undefined: events are switched off. */
  readonly events: EventRecorder | undefined;
  readonly metrics: ClaimMetrics;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  /** In which domains a claim may give its Pod labels. */
  readonly labelDomains: readonly string[];
  /** Whether the time at which a claim was first seen is written on it. */
  readonly writesNotes: boolean;
}

/** Starts to give claims their Sandboxes. The informers must have synced. */
export function startClaimController(options: ClaimControllerOptions): Running {
  const { client, slowClient, informers, clock, log } = options;
  const stores = new DisposableStack();
  const claims = stores.use(new OwnWrites(informers.sandboxClaims, clock));
  const sandboxes = stores.use(new OwnWrites(informers.sandboxes, clock));
  const writes = new ClaimWrites({ client, slowClient, claims, sandboxes });
  const queues = new AdoptionQueues();
  const sights = new FirstSights(clock);
  const reconciler = new ClaimReconciler({
    ...options,
    views: {
      claims,
      sandboxes,
      controlledSandboxes: informers.sandboxes.store,
      pools: informers.pools.store,
      templates: informers.templates.store,
    },
    writes,
    adopter: new Adopter(writes, clock),
    queues,
    sights,
    pods: informers.pods.store,
    networkPolicies: informers.networkPolicies.store,
  });
  const sighted: Source = keysFrom(informers.sandboxClaims, (claim) => {
    const now = claims.get(keyOf(claim));
    if (now && isTimed(now)) sights.see(now);
    return [keyOf(claim)];
  });
  return startKind({
    name: "sandboxclaim",
    workers: options.workers,
    mayWait: (key) => sights.isServed(key),
    sources: [
      () => followStock(informers.sandboxes, queues),
      sighted,
      claimsOfSandboxes(informers.sandboxes),
      claimsOfPools(informers.pools, informers.sandboxClaims, queues),
      claimsOfTemplates(informers.templates, informers.pools, informers.sandboxClaims),
      (enqueue) => claims.onForgotten((claim) => enqueue(keyOf(claim))),
      (enqueue) =>
        sandboxes.onForgotten((sandbox) => {
          const claim = claimantOf(sandbox);
          if (claim !== undefined) enqueue(claim);
        }),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log,
    metrics: options.runtimeMetrics,
    uses: stores,
  });
}
