import { keyOf } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/kinds/sandbox-warm-pool.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { openNotes } from "../../kube/notes/open-notes.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { RuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { OwnWrites } from "../own-writes.ts";
import { keysFrom, type Source, startKind } from "../start-kind.ts";
import { Creations } from "../stores/creations.ts";
import type { Traces } from "../traces.ts";
import { Adopter } from "./adoption/adopter.ts";
import { AdoptionQueues } from "./adoption/adoption-queue.ts";
import { claimsOfPolicies, claimsOfPools, claimsOfTemplates } from "./adoption/pool-changes.ts";
import { claimantOf } from "./adoption/pool-membership.ts";
import { claimsOfSandboxes, followStock } from "./adoption/sandbox-changes.ts";
import { ClaimWrites } from "./claim-writes.ts";
import { ClaimReconciler } from "./reconciler.ts";
import type { ClaimMetrics } from "./status/claim-metrics.ts";
import { isTimed } from "./status/first-ready.ts";
import { FirstSights } from "./status/first-sights.ts";

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
  /** For writes that no user waits for. */
  readonly slowClient: KubeClient;
  readonly informers: ClaimInformers;
  /** Undefined: events are disabled. */
  readonly events: EventRecorder | undefined;
  readonly metrics: ClaimMetrics;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly turns?: Turns | undefined;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  /** Label domains that a claim may use on its Pod. */
  readonly labelDomains: readonly string[];
  /** Whether the time at which a claim was first seen is written as an annotation. */
  readonly writesNotes: boolean;
  /** See `ClaimViews`. */
  readonly servesV1alpha1: boolean;
}

/** Starts the SandboxClaim controller. The informers must have synced. */
export function startClaimController(options: ClaimControllerOptions): Running {
  const { client, slowClient, informers, clock, log } = options;
  const stores = new DisposableStack();
  const claims = stores.use(new OwnWrites(informers.sandboxClaims, clock));
  const sandboxes = stores.use(new OwnWrites(informers.sandboxes, clock));
  const notes = openNotes(stores, [claims, sandboxes], options);
  const writes = new ClaimWrites({ client, slowClient, claims, sandboxes, notes });
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
      networkPolicies: informers.networkPolicies.store,
      servesV1alpha1: options.servesV1alpha1,
    },
    ...{ writes, notes, queues, sights, creations: new Creations(clock) },
    adopter: new Adopter(writes, clock),
    pods: informers.pods.store,
    networkPolicies: informers.networkPolicies.store,
  });
  const see: Source = keysFrom(informers.sandboxClaims, (claim) => {
    const now = claims.get(keyOf(claim));
    if (now && isTimed(now)) sights.see(now);
    return [];
  });
  return startKind({
    name: "sandboxclaim",
    workers: options.workers,
    isAwaited: (key) => !isConditionTrue(claims.get(key)?.status?.conditions, "Ready"),
    mayWait: (key) => sights.isServed(key),
    objects: informers.sandboxClaims,
    sources: [
      () => followStock(informers.sandboxes, queues),
      see,
      claimsOfSandboxes(informers.sandboxes),
      (enqueue) => claims.onForgotten((claim) => enqueue(keyOf(claim))),
      (enqueue) =>
        sandboxes.onForgotten((sandbox) => {
          const claim = claimantOf(sandbox);
          if (claim !== undefined) enqueue(claim);
        }),
    ],
    obstacles: [
      claimsOfPools(informers.pools, informers.sandboxClaims, queues),
      claimsOfTemplates(informers.templates, informers.pools, informers.sandboxClaims),
      claimsOfPolicies(informers.networkPolicies, informers.pools, informers.sandboxClaims),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log,
    metrics: options.runtimeMetrics,
    turns: options.turns,
    uses: stores,
  });
}
