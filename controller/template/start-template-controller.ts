import { controllerOf, type KubeObject, keyFor, keyOf, type Stored } from "../../api/meta.ts";
import type { NetworkPolicy } from "../../api/network-policy.ts";
import { groupOf } from "../../api/resource-type.ts";
import { extensionsGroup } from "../../api/sandbox.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/sandbox-template.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Informer } from "../../kube/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { OwnWrites } from "../own-writes.ts";
import type { RuntimeMetrics } from "../runtime-metrics.ts";
import { keysFrom, startKind } from "../start-kind.ts";
import type { Traces } from "../traces.ts";
import { TemplateReconciler } from "./reconciler.ts";

export interface TemplateInformers {
  readonly templates: Informer<SandboxTemplate>;
  readonly networkPolicies: Informer<NetworkPolicy>;
}

export interface TemplateControllerOptions {
  readonly client: KubeClient;
  readonly informers: TemplateInformers;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
}

/** Starts to keep the NetworkPolicies of templates. The informers must have synced. */
export function startTemplateController({ client, informers, clock, ...options }: TemplateControllerOptions): Running {
  const stores = new DisposableStack();
  const templates = stores.use(new OwnWrites(informers.templates, clock));
  const policies = stores.use(new OwnWrites(informers.networkPolicies, clock));
  const reconciler = new TemplateReconciler({ client, templates, policies }, options.traces);
  return startKind({
    name: "sandboxtemplate",
    workers: options.workers,
    sources: [
      keysFrom(informers.templates, (template) => [keyOf(template)]),
      keysFrom(informers.networkPolicies, templateKeys),
      (enqueue) => templates.onForgotten((template) => enqueue(keyOf(template))),
      (enqueue) => policies.onForgotten((policy) => templateKeys(policy).forEach(enqueue)),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log: options.log,
    metrics: options.runtimeMetrics,
    uses: stores,
  });
}

function templateKeys(policy: Stored<KubeObject>): readonly string[] {
  const owner = controllerOf(policy);
  if (owner?.kind !== sandboxTemplateType.kind || groupOf(owner.apiVersion) !== extensionsGroup) return [];
  return [keyFor(policy.metadata.namespace, owner.name)];
}
