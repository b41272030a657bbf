import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { effectiveNetworkPolicyManagement } from "../../api/rules/defaults.ts";
import { templateRefAnnotation, templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { RuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { OwnWrites } from "../own-writes.ts";
import { keysFrom, type Source, startKind } from "../start-kind.ts";
import { Creations } from "../stores/creations.ts";
import type { Traces } from "../traces.ts";
import type { LostPolicies } from "./lost-policies.ts";
import { networkPolicyName } from "./make-network-policy.ts";
import { templateKeys } from "./policy-in-place.ts";
import { holderCounts, isUserReference } from "./policy-users.ts";
import { TemplateReconciler } from "./reconciler.ts";

export interface TemplateInformers {
  readonly templates: Informer<SandboxTemplate>;
  readonly networkPolicies: Informer<NetworkPolicy>;
  readonly sandboxes: Informer<Sandbox, "templateHash">;
  readonly pods: Informer<Pod, "templateHash">;
  readonly lostPolicies: LostPolicies;
}

export interface TemplateControllerOptions {
  readonly client: KubeClient;
  readonly informers: TemplateInformers;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly turns?: Turns | undefined;
  readonly traces: Traces;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  readonly events: EventRecorder;
}

/** Starts to keep the NetworkPolicies of templates. The informers must have synced. */
export function startTemplateController({ client, informers, clock, ...options }: TemplateControllerOptions): Running {
  const stores = new DisposableStack();
  const templates = stores.use(new OwnWrites(informers.templates, clock));
  const policies = stores.use(new OwnWrites(informers.networkPolicies, clock));
  const reconciler = new TemplateReconciler(
    {
      ...{
        creations: new Creations(clock),
        client,
        templates,
        policies,
        events: options.events,
        lostPolicies: informers.lostPolicies,
      },
      ...{ sandboxes: informers.sandboxes.store, pods: informers.pods.store },
    },
    options.traces,
  );
  return startKind({
    name: "sandboxtemplate",
    workers: options.workers,
    sources: [
      keysFrom(informers.templates, (template) => [keyOf(template)]),
      keysFrom(informers.networkPolicies, templateKeys),
      templatesOfSandboxes(informers),
      templatesOfPods(informers),
      (enqueue) => templates.onForgotten((template) => enqueue(keyOf(template))),
      (enqueue) => policies.onForgotten((policy) => templateKeys(policy).forEach(enqueue)),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    clock,
    log: options.log,
    metrics: options.runtimeMetrics,
    turns: options.turns,
    uses: stores,
  });
}

/** A Sandbox came or went, and its policy lacks holders or has no template any more. */
const templatesOfSandboxes =
  (informers: TemplateInformers): Source =>
  (enqueue) =>
    informers.sandboxes.onChange(({ previous, current }) => {
      const same =
        previous?.metadata.labels?.[templateRefHashLabel] === current?.metadata.labels?.[templateRefHashLabel];
      if (same && previous?.metadata.deletionTimestamp === current?.metadata.deletionTimestamp && previous && current)
        return;
      for (const sandbox of [previous, current]) {
        const key = sandbox && templateKeyOfSandbox(sandbox);
        if (key !== undefined && lacksHolders(key, informers)) enqueue(key);
      }
    });

/** A Pod came whose template is gone. One that goes leaves its policy to the garbage collector. */
const templatesOfPods =
  ({ pods, sandboxes, templates }: TemplateInformers): Source =>
  (enqueue) =>
    pods.onChange(({ previous, current }) => {
      if (!current || previous?.metadata.uid === current.metadata.uid) return;
      const owner = controllerOfKind(current, sandboxType)?.name;
      const sandbox = owner === undefined ? undefined : sandboxes.store.get(keyFor(current.metadata.namespace, owner));
      const key = sandbox && templateKeyOfSandbox(sandbox);
      if (key !== undefined && !templates.store.get(key)) enqueue(key);
    });

/** The key of the template that a Sandbox was created from, whether or not the template exists. */
export function templateKeyOfSandbox({ metadata }: Stored<Sandbox>): string | undefined {
  const name = metadata.annotations?.[templateRefAnnotation];
  const isItsOwn = name !== undefined && metadata.labels?.[templateRefHashLabel] === nameHash(name);
  return isItsOwn ? keyFor(metadata.namespace, name) : undefined;
}

function lacksHolders(templateKey: string, { templates, networkPolicies }: TemplateInformers): boolean {
  const template = templates.store.get(templateKey);
  if (!template) return true;
  if (effectiveNetworkPolicyManagement(template.spec) === "Unmanaged") return false;
  const { namespace, name } = template.metadata;
  const { ownerReferences = [] } =
    networkPolicies.store.get(keyFor(namespace, networkPolicyName(name)))?.metadata ?? {};
  return ownerReferences.filter(isUserReference).length < holderCounts.withTemplate.sandboxes.min;
}
