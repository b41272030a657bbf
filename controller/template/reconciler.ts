import { type KubeObject, keyFor, keyOf, parseKey, type Stored } from "../../api/kinds/meta.ts";
import { type NetworkPolicy, networkPolicyType } from "../../api/kinds/network-policy.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { templateGoneAnnotation, templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isNamespaceTerminating, isNotFound } from "../../kube/client/errors.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Store } from "../../kube/informer/informer.ts";
import type { Outcome } from "../../lib/queues/workers.ts";
import { patchOfSame } from "../merge-patch.ts";
import type { OwnWrites } from "../own-writes.ts";
import type { Creations } from "../stores/creations.ts";
import type { Traces } from "../traces.ts";
import { type Action, decide, isWritten, type Observed } from "./decide.ts";
import type { LostPolicies } from "./lost-policies.ts";
import { networkPolicyName } from "./make-network-policy.ts";
import { mayRun, usesPolicy } from "./policy-users.ts";
import { showsUsers } from "./shown-users.ts";

export interface TemplateWriters {
  readonly client: KubeClient;
  readonly templates: OwnWrites<SandboxTemplate>;
  readonly creations: Creations;
  readonly policies: OwnWrites<NetworkPolicy>;
  readonly events: EventRecorder;
  readonly sandboxes: Pick<Store<Sandbox, "templateHash">, "by">;
  readonly pods: Pick<Store<Pod, "templateHash">, "by">;
  readonly lostPolicies: LostPolicies;
}

// The garbage collector takes dead owners off a policy while we write it.
const roundsMax = 3;
/** The template keeps changing, which its store shows. */
const changedRecheckMs = 200;
/** What `Creations` knows the policy of a template by. */
const child = "NetworkPolicy";
const createsPolicy = (action: Action): boolean => action.do === "createPolicy";
const deletesPolicy = (action: Action): boolean => action.do === "deletePolicy";

/**
 * Brings the label and the NetworkPolicy of one template at a time in line with it, and keeps the policy of a deleted
 * template while there are users. It has no status.
 */
export class TemplateReconciler {
  readonly #writers: TemplateWriters;
  readonly #traces: Traces;

  constructor(writers: TemplateWriters, traces: Traces) {
    this.#writers = writers;
    this.#traces = traces;
  }

  /** @throws Error when something failed, or a policy of the name is not the template's own. */
  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const observed = observe(key, this.#writers);
    const { template } = observed;
    if (!template) return this.#pass(key, observed, signal);
    return this.#traces.during("ReconcileSandboxTemplate", template, noAttributes, () =>
      this.#pass(key, observed, signal),
    );
  }

  async #pass(key: string, first: Observed, signal: AbortSignal): Promise<Outcome> {
    let observed = first;
    for (let round = 1; ; round += 1) {
      try {
        const actions = decide(observed);
        const requeueAfterMs = this.#waitMs(actions, observed);
        if (requeueAfterMs > 0) return { requeueAfterMs };
        if (await this.#isAsSeen(actions, observed, signal)) {
          for (const action of actions) await this.#perform(action, observed, signal);
          return {};
        }
        if (round === roundsMax) return { requeueAfterMs: changedRecheckMs };
        observed = observe(key, this.#writers);
      } catch (error) {
        signal.throwIfAborted();
        if (!isConflict(error) || round === roundsMax) throw error;
        observed = observe(key, this.#writers);
      }
    }
  }

  /** Milliseconds until a policy may be created that was lost again and again. */
  #waitMs(actions: readonly Action[], { template }: Observed): number {
    return template && actions.some(createsPolicy) ? this.#writers.creations.waitMs(template, child) : 0;
  }

  /**
   * Whether the template is still there as it was seen, or still is not. It is read before a deletion, for the policy may be wanted by now,
   * and before a second creation. What is read is seen from then on.
   */
  async #isAsSeen(actions: readonly Action[], observed: Observed, signal: AbortSignal): Promise<boolean> {
    const { client, creations, templates } = this.#writers;
    const { namespace, name, template } = observed;
    const createsAgain = template && actions.some(createsPolicy) && creations.isRepeated(template, child);
    if (!createsAgain && !actions.some(deletesPolicy)) return true;
    const read = () => client.get(sandboxTemplateType, { namespace, name }, signal);
    const now = await templates.read(keyFor(namespace, name), read);
    if (!template) return now === undefined || now.metadata.deletionTimestamp !== undefined;
    return now?.metadata.resourceVersion === template.metadata.resourceVersion;
  }

  async #perform(action: Action, observed: Observed, signal: AbortSignal): Promise<void> {
    try {
      if (!observed.template && !(await this.#agreesWithUsers(action, observed, signal))) return;
      await perform(action, observed.template, this.#writers, signal);
      if (action.do === "createPolicy" && observed.template) this.#writers.creations.note(observed.template, child);
    } catch (error) {
      signal.throwIfAborted();
      this.#reportFailure(observed, action, error);
      throw error;
    }
    this.#reportKept(action, observed);
  }

  /**
   * Without its template a policy is made only for users that are there, and deleted only if there are none. The API server is asked too:
   * the stores may be behind, and the policy have gone with its last user.
   */
  async #agreesWithUsers(action: Action, observed: Observed, signal: AbortSignal): Promise<boolean> {
    if (!createsPolicy(action) && !deletesPolicy(action)) return true;
    return (await showsUsers(this.#writers.client, observed, signal)) === createsPolicy(action);
  }

  #reportFailure({ name, template, policy, users }: Observed, action: Action, error: unknown): void {
    // Another writer was faster, or its namespace is deleted: the next reconcile reads the current state.
    if (!policyActions.includes(action.do) || isConflict(error) || isAlreadyExists(error)) return;
    const regarding: Stored<KubeObject> | undefined = template ?? policy ?? users.sandboxes[0] ?? users.pods[0];
    if (isNamespaceTerminating(error) || !regarding) return;
    const why = error instanceof Error ? error.message : String(error);
    const note = `could not write NetworkPolicy "${networkPolicyName(name)}" of SandboxTemplate "${name}": ${why}`;
    const about = { type: "Warning", reason: "NetworkPolicyNotWritten", action: "Reconciling" } as const;
    this.#writers.events.record({ ...about, regarding, note });
  }

  /** Reports once a policy that stays without its template, and each policy that was made again. */
  #reportKept(action: Action, { namespace, name, template, policy, users }: Observed): void {
    if (template || (action.do !== "createPolicy" && action.do !== "replacePolicy")) return;
    const regarding = this.#writers.policies.get(keyFor(namespace, networkPolicyName(name)));
    if (!regarding) return;
    const counts = `Sandboxes: ${users.sandboxes.length}, Pods: ${users.pods.length}`;
    if (action.do === "createPolicy") {
      const note = `SandboxTemplate "${name}" was deleted, and this NetworkPolicy was missing; the controller created it again for the sandboxes and Pods that need it. ${counts}`;
      const about = { type: "Warning", reason: "NetworkPolicyRestored", action: "Reconciling" } as const;
      this.#writers.events.record({ ...about, regarding, note });
    } else if (policy?.metadata.annotations?.[templateGoneAnnotation] === undefined) {
      const note = `SandboxTemplate "${name}" was deleted; this NetworkPolicy stays until its last sandbox and running Pod are gone. ${counts}`;
      const about = { type: "Normal", reason: "NetworkPolicyKept", action: "Reconciling" } as const;
      this.#writers.events.record({ ...about, regarding, note });
    }
  }
}

/** Templates have no status, so only an event reports that their Pods have no policy, or an older one. */
const policyActions: readonly Action["do"][] = ["createPolicy", "replacePolicy", "refuse"];

const noAttributes = () => ({});

function observe(key: string, { templates, policies, sandboxes, pods, lostPolicies }: TemplateWriters): Observed {
  const { namespace, name } = parseKey(key);
  const found = templates.get(key);
  const template = found?.metadata.deletionTimestamp ? undefined : found;
  if (template) lostPolicies.forget(key);
  const policy = policies.get(keyFor(namespace, networkPolicyName(name)));
  const hash = keyFor(namespace, nameHash(name));
  const users = {
    sandboxes: sandboxes.by("templateHash", hash).filter(usesPolicy),
    pods: pods.by("templateHash", hash).filter(mayRun),
  };
  return { namespace, name, template, policy, users, lost: lostPolicies.get(key) };
}

async function perform(
  action: Action,
  template: Stored<SandboxTemplate> | undefined,
  { client, templates, policies }: TemplateWriters,
  signal: AbortSignal,
): Promise<void> {
  switch (action.do) {
    case "labelTemplate": {
      if (!template) return;
      const { namespace, name } = template.metadata;
      const body = { metadata: { labels: { [templateRefHashLabel]: action.value } } };
      const patch = patchOfSame(template, body);
      const call = () => client.patch(sandboxTemplateType, { namespace, name }, patch, {}, signal);
      await templates.patch(template, body, call);
      return;
    }
    case "createPolicy":
      return createPolicy(action.policy, client, policies, signal);
    case "replacePolicy":
      return replacePolicy(action.policy, client, policies, signal);
    case "deletePolicy":
      return deletePolicy(action.policy, client, policies, signal);
    case "refuse":
      throw new Error(action.why);
  }
}

async function createPolicy(
  policy: NetworkPolicy,
  client: KubeClient,
  policies: OwnWrites<NetworkPolicy>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name = "" } = policy.metadata;
  try {
    await policies.create(keyOf(policy), () => client.create(networkPolicyType, policy, {}, signal));
  } catch (error) {
    // The next pass, which the failure brings about, is to see whose it is.
    if (isAlreadyExists(error)) {
      await policies.write(keyOf(policy), () => client.get(networkPolicyType, { namespace, name }, signal));
    }
    throw error;
  }
}

async function replacePolicy(
  policy: Stored<NetworkPolicy>,
  client: KubeClient,
  policies: OwnWrites<NetworkPolicy>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = policy.metadata;
  try {
    const isKept = (answer: Stored<NetworkPolicy>) => isWritten(policy, answer);
    await policies.replace(policy, isKept, () => client.replace(networkPolicyType, policy, {}, signal));
  } catch (error) {
    // The watch reports its deletion, and the remaining owners are reconciled then.
    if (isNotFound(error)) return;
    if (isConflict(error))
      await policies.write(keyOf(policy), () => client.get(networkPolicyType, { namespace, name }, signal));
    throw error;
  }
}

async function deletePolicy(
  policy: Stored<NetworkPolicy>,
  client: KubeClient,
  policies: OwnWrites<NetworkPolicy>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid, resourceVersion } = policy.metadata;
  const preconditions = { uid, resourceVersion };
  const call = () => client.delete(networkPolicyType, { namespace, name }, { preconditions }, signal);
  await policies.delete(policy, call).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
