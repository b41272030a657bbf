import { keyFor, keyOf, parseKey, type Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { templateRefHashLabel } from "../../api/rules/keys.ts";
import { Subscribers } from "../../lib/data/subscribers.ts";
import { networkPolicyName } from "./make-network-policy.ts";
import { policyGap, templateKeyOf } from "./policy-in-place.ts";
import { usesPolicy } from "./policy-users.ts";
import { type TemplateInformers, templateKeyOfSandbox } from "./start-template-controller.ts";

type GateInformers = Pick<TemplateInformers, "templates" | "networkPolicies" | "sandboxes" | "lostPolicies">;

/** Says of which Sandboxes no Pod may start, for the NetworkPolicy of their template is not in place. */
export class PolicyGate {
  readonly #informers: GateInformers;
  readonly #opened = new Subscribers();
  #isOpen = false;

  constructor(informers: GateInformers) {
    this.#informers = informers;
  }

  /** Templates and policies are known from now on. */
  open(): void {
    this.#isOpen = true;
    this.#opened.notify();
  }

  /** Why no Pod of this Sandbox may start; undefined where one may. */
  gapOf(sandbox: Stored<Sandbox>): string | undefined {
    const { templates, networkPolicies, lostPolicies } = this.#informers;
    const key = usesPolicy(sandbox) ? templateKeyOfSandbox(sandbox) : undefined;
    if (key === undefined) return undefined;
    if (!this.#isOpen) return "no Pod starts without its network policy: templates and policies are not known yet";
    const template = templates.store.get(key);
    if (template && !template.metadata.deletionTimestamp) return policyGap(template, networkPolicies.store);
    const { namespace, name } = parseKey(key);
    const policyName = networkPolicyName(name);
    const policy = networkPolicies.store.get(keyFor(namespace, policyName));
    // Whether a deleted template managed a policy is unknown, unless that policy was seen.
    if ((policy && templateKeyOf(policy) === key) || !lostPolicies.has(key)) return undefined;
    return `no Pod starts without its network policy: SandboxTemplate "${name}" is gone, and its NetworkPolicy "${policyName}" is missing`;
  }

  /** Tells which Sandboxes may have waited, when a policy comes or changes. */
  onChange(notify: (sandboxKey: string) => void): Disposable {
    const { networkPolicies, sandboxes } = this.#informers;
    const stack = new DisposableStack();
    stack.use(
      this.#opened.add(() => {
        for (const each of sandboxes.store.list()) if (usesPolicy(each) && waitsForPod(each)) notify(keyOf(each));
      }),
    );
    const changes = networkPolicies.onChange(({ previous, current }) => {
      if (!current) return;
      const same = previous?.metadata.uid === current.metadata.uid;
      // Owners come and go without a new generation.
      if (same && previous?.metadata.generation === current.metadata.generation) return;
      const hash = current.spec?.podSelector?.matchLabels?.[templateRefHashLabel];
      if (hash === undefined) return;
      const users = sandboxes.store.by("templateHash", keyFor(current.metadata.namespace, hash));
      for (const sandbox of users) if (waitsForPod(sandbox)) notify(keyOf(sandbox));
    });
    stack.use(changes);
    return stack;
  }
}

const waitsForPod = ({ spec, status }: Stored<Sandbox>): boolean =>
  effectiveOperatingMode(spec) === "Running" && !isConditionTrue(status?.conditions, "Ready");
