import type { Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy, NetworkPolicySpec } from "../../api/kinds/network-policy.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { effectiveNetworkPolicyManagement } from "../../api/rules/defaults.ts";
import type { Informer, Store } from "../../kube/informer/informer.ts";
import { groupOf } from "../../lib/queues/fair-keys.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { templateKeyOf } from "./policy-in-place.ts";

interface Lost {
  /** The spec as JSON. It takes a part of the memory of the objects, and its size is known. */
  readonly json: string;
  readonly askedAtMs: number;
}

/** What is remembered of one namespace. */
interface Share {
  /** By the key of the template; the first is the one that was not asked for for longest. */
  readonly lost: Map<string, Lost>;
  characters: number;
}

const lostMax = 1_000;
/** Characters of JSON in all. A policy has at most 1.5 MB, the limit of etcd. */
const charactersMax = 32 * 1_048_576;
// Longer than a change of leaders takes. What the leader still needs it asks for more often.
const rememberMs = 5 * 60_000;
const sweepMs = 60_000;

/**
 * What the NetworkPolicies said that are gone, for they may be needed still when their template is gone too. Every replica
 * remembers, so that the next leader can make such a policy again. They are bounded in number and size, and each is kept until no
 * pass has needed it in five minutes. Beyond a bound, the namespace with the largest policies loses its oldest one.
 */
export class LostPolicies implements Disposable {
  readonly #clock: Clock;
  readonly #shares = new Map<string, Share>();
  #size = 0;
  #characters = 0;
  #sweep: Disposable | undefined;
  readonly #subscription: Disposable;

  constructor(policies: Informer<NetworkPolicy>, templates: Pick<Store<SandboxTemplate>, "get">, clock: Clock) {
    this.#clock = clock;
    this.#subscription = policies.onChange(({ previous, current }) => {
      if (previous && previous.metadata.uid !== current?.metadata.uid) this.#gone(previous, templates);
    });
  }

  /** Whether the policy of this template, by the template's key, is missing and known. */
  has(templateKey: string): boolean {
    return this.#ask(templateKey) !== undefined;
  }

  /** The spec of the missing policy of this template, by the template's key; undefined if none is missing. */
  get(templateKey: string): NetworkPolicySpec | undefined {
    const found = this.#ask(templateKey);
    return found && JSON.parse(found.json);
  }

  /** The template exists, and determines the policy. */
  forget(templateKey: string): void {
    const namespace = groupOf(templateKey);
    const share = this.#shares.get(namespace);
    const found = share?.lost.get(templateKey);
    if (!share || !found) return;
    share.lost.delete(templateKey);
    share.characters -= found.json.length;
    this.#characters -= found.json.length;
    this.#size -= 1;
    if (share.lost.size === 0) this.#shares.delete(namespace);
  }

  get size(): number {
    return this.#size;
  }

  [Symbol.dispose](): void {
    this.#sweep?.[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
  }

  #ask(templateKey: string): Lost | undefined {
    const found = this.#shares.get(groupOf(templateKey))?.lost.get(templateKey);
    this.forget(templateKey);
    const nowMs = this.#clock.ticksMs();
    if (!found || nowMs - found.askedAtMs > rememberMs) return undefined;
    this.#remember(templateKey, { ...found, askedAtMs: nowMs });
    return found;
  }

  #gone(policy: Stored<NetworkPolicy>, templates: Pick<Store<SandboxTemplate>, "get">): void {
    const key = templateKeyOf(policy);
    if (key === undefined || policy.spec === undefined) return;
    const template = templates.get(key);
    // Its template manages no policy any more.
    if (template && effectiveNetworkPolicyManagement(template.spec) === "Unmanaged") return;
    this.forget(key);
    this.#remember(key, { json: JSON.stringify(policy.spec), askedAtMs: this.#clock.ticksMs() });
    while (this.#size > lostMax || this.#characters > charactersMax) this.#forgetOne();
    this.#sweep ??= this.#clock.after(sweepMs, () => this.#sweepOut());
  }

  #remember(templateKey: string, lost: Lost): void {
    const namespace = groupOf(templateKey);
    const share = this.#shares.get(namespace) ?? { lost: new Map(), characters: 0 };
    this.#shares.set(namespace, share);
    share.lost.set(templateKey, lost);
    share.characters += lost.json.length;
    this.#characters += lost.json.length;
    this.#size += 1;
  }

  /** One namespace cannot take the memory of others. */
  #forgetOne(): void {
    let most: Share | undefined;
    for (const share of this.#shares.values()) if (share.characters > (most?.characters ?? 0)) most = share;
    const [oldest] = most?.lost.keys() ?? [];
    if (oldest !== undefined) this.forget(oldest);
  }

  #sweepOut(): void {
    this.#sweep = undefined;
    const oldestMs = this.#clock.ticksMs() - rememberMs;
    for (const { lost } of [...this.#shares.values()]) {
      for (const [key, { askedAtMs }] of lost) {
        if (askedAtMs >= oldestMs) break; // the rest was asked for later
        this.forget(key);
      }
    }
    if (this.#size > 0) this.#sweep = this.#clock.after(sweepMs, () => this.#sweepOut());
  }
}
