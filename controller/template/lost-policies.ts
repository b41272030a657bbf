import type { Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy, NetworkPolicySpec } from "../../api/kinds/network-policy.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { effectiveNetworkPolicyManagement } from "../../api/rules/defaults.ts";
import type { Informer, Store } from "../../kube/informer/informer.ts";
import { groupOf } from "../../lib/queues/fair-keys.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { templateKeyOf } from "./policy-in-place.ts";

interface Lost {
  readonly spec: NetworkPolicySpec | undefined;
  readonly askedAtMs: number;
}

const lostMax = 1_000;
// Longer than a change of leaders takes. What the leader still needs it asks for more often.
const rememberMs = 5 * 60_000;

/**
 * What the NetworkPolicies said that are gone, for they may be needed still when their template is gone too. Every replica
 * remembers, so that the next leader can make such a policy again. At most 1 000 of them, each until no pass has needed it
 * in five minutes. Beyond that, the namespace with the most of them loses its oldest one.
 */
export class LostPolicies implements Disposable {
  readonly #clock: Clock;
  /** By namespace and the key of the template; the first is the one that was not asked for for longest. */
  readonly #lost = new Map<string, Map<string, Lost>>();
  #size = 0;
  readonly #subscription: Disposable;

  constructor(policies: Informer<NetworkPolicy>, templates: Pick<Store<SandboxTemplate>, "get">, clock: Clock) {
    this.#clock = clock;
    this.#subscription = policies.onChange(({ previous, current }) => {
      if (previous && previous.metadata.uid !== current?.metadata.uid) this.#gone(previous, templates);
    });
  }

  /** The spec of the missing policy of this template, by the template's key; undefined if none is missing. */
  get(templateKey: string): NetworkPolicySpec | undefined {
    const found = this.#lost.get(groupOf(templateKey))?.get(templateKey);
    this.forget(templateKey);
    const nowMs = this.#clock.ticksMs();
    if (!found || nowMs - found.askedAtMs > rememberMs) return undefined;
    this.#remember(templateKey, { ...found, askedAtMs: nowMs });
    return found.spec;
  }

  /** The template exists, and determines the policy. */
  forget(templateKey: string): void {
    const namespace = groupOf(templateKey);
    const lost = this.#lost.get(namespace);
    if (!lost?.delete(templateKey)) return;
    this.#size -= 1;
    if (lost.size === 0) this.#lost.delete(namespace);
  }

  get size(): number {
    return this.#size;
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #gone(policy: Stored<NetworkPolicy>, templates: Pick<Store<SandboxTemplate>, "get">): void {
    const key = templateKeyOf(policy);
    if (key === undefined) return;
    const template = templates.get(key);
    // Its template manages no policy any more.
    if (template && effectiveNetworkPolicyManagement(template.spec) === "Unmanaged") return;
    this.forget(key);
    this.#remember(key, { spec: policy.spec, askedAtMs: this.#clock.ticksMs() });
    if (this.#size > lostMax) this.#forgetOne();
  }

  #remember(templateKey: string, lost: Lost): void {
    const namespace = groupOf(templateKey);
    const others = this.#lost.get(namespace);
    if (others) others.set(templateKey, lost);
    else this.#lost.set(namespace, new Map([[templateKey, lost]]));
    this.#size += 1;
  }

  /** One namespace cannot take the memory of others. */
  #forgetOne(): void {
    let most: Map<string, Lost> | undefined;
    for (const lost of this.#lost.values()) if (lost.size > (most?.size ?? 0)) most = lost;
    const [oldest] = most?.keys() ?? [];
    if (oldest !== undefined) this.forget(oldest);
  }
}
