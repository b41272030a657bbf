import { templateRefHashLabel } from "../../api/keys.ts";
import { keyFor, keyOf, type Stored } from "../../api/meta.ts";
import { type NetworkPolicy, networkPolicyType } from "../../api/network-policy.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/sandbox-template.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isAlreadyExists, isNotFound } from "../../kube/errors.ts";
import type { Outcome } from "../../lib/workers.ts";
import type { OwnWrites } from "../own-writes.ts";
import type { Traces } from "../traces.ts";
import { type Action, decide, type Observed } from "./decide.ts";
import { networkPolicyName } from "./make-network-policy.ts";

export interface TemplateWriters {
  readonly client: KubeClient;
  readonly templates: OwnWrites<SandboxTemplate>;
  readonly policies: OwnWrites<NetworkPolicy>;
}

/** Brings the label and the NetworkPolicy of one template at a time in line with it. There is no status to conclude. */
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
    if (!observed) return {};
    const { template } = observed;
    return this.#traces.during("ReconcileSandboxTemplate", template, noAttributes, async () => {
      for (const action of decide(observed)) await perform(action, template, this.#writers, signal);
      return {};
    });
  }
}

const noAttributes = () => ({});

/** Undefined when there is no such template, or it is on its way out: its policy goes with it. */
function observe(key: string, { templates, policies }: TemplateWriters): Observed | undefined {
  const template = templates.get(key);
  if (!template || template.metadata.deletionTimestamp) return undefined;
  const { namespace, name } = template.metadata;
  return { template, policy: policies.get(keyFor(namespace, networkPolicyName(name))) };
}

async function perform(
  action: Action,
  template: Stored<SandboxTemplate>,
  { client, templates, policies }: TemplateWriters,
  signal: AbortSignal,
): Promise<void> {
  switch (action.do) {
    case "labelTemplate": {
      const { namespace, name } = template.metadata;
      const body = { metadata: { labels: { [templateRefHashLabel]: action.value } } };
      const patch = () => client.patch(sandboxTemplateType, { namespace, name }, { type: "merge", body }, {}, signal);
      await templates.write(keyOf(template), patch);
      return;
    }
    case "createPolicy":
      return createPolicy(action.policy, client, policies, signal);
    case "replacePolicy":
      await policies.write(keyOf(action.policy), () => client.replace(networkPolicyType, action.policy, {}, signal));
      return;
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
    await policies.write(keyOf(policy), () => client.create(networkPolicyType, policy, {}, signal));
  } catch (error) {
    // The next pass, which the failure brings about, is to see whose it is.
    if (isAlreadyExists(error)) {
      await policies.write(keyOf(policy), () => client.get(networkPolicyType, { namespace, name }, signal));
    }
    throw error;
  }
}

async function deletePolicy(
  policy: Stored<NetworkPolicy>,
  client: KubeClient,
  policies: OwnWrites<NetworkPolicy>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid } = policy.metadata;
  const call = () => client.delete(networkPolicyType, { namespace, name }, { preconditions: { uid } }, signal);
  await policies.delete(policy, call).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
