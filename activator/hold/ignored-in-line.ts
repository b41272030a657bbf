import type { AutoSuspension, SandboxSpec } from "../../api/kinds/sandbox.ts";
import { forEachYielding } from "../../lib/time/yielding.ts";
import { isIgnored } from "../activity/ignored-requests.ts";
import type { RequestHead } from "../request.ts";

type Rules = NonNullable<AutoSuspension["ignoreRequests"]>;

interface Waiter {
  readonly head: RequestHead | undefined;
}

/**
 * Finds held requests that `ignoreRequests` matches while their sandbox is suspended: those that joined before the rules were
 * set, or before the suspension. A request is matched once under the same rules, and again only when the rules or the mode
 * have changed: a tenant changes its sandbox at any rate, and may have thousands of held requests.
 */
export class IgnoredInLine<W extends Waiter> {
  readonly #line: Iterable<W>;
  /** Those that were not matched against the current rules. */
  readonly #unmatched = new Set<W>();
  #rules: Rules | undefined;

  constructor(line: Iterable<W>) {
    this.#line = line;
  }

  joined(waiter: W): void {
    this.#unmatched.add(waiter);
  }

  left(waiter: W): void {
    this.#unmatched.delete(waiter);
  }

  /** Calls back with each request that is ignored now, over as many turns as are needed. Undefined: there is nothing to match. */
  find(
    spec: Pick<SandboxSpec, "operatingMode" | "autoSuspension"> | undefined,
    onFound: (waiter: W) => void,
  ): Promise<void> | undefined {
    const rules = spec?.operatingMode === "Suspended" ? spec.autoSuspension?.ignoreRequests : undefined;
    const areSame = areSameRules(rules, this.#rules);
    this.#rules = rules;
    if (rules === undefined || rules.length === 0 || (areSame && this.#unmatched.size === 0)) return undefined;
    return forEachYielding(areSame ? this.#unmatched : this.#line, (waiter) => {
      this.#unmatched.delete(waiter);
      if (isIgnored(waiter.head, spec?.autoSuspension)) onFound(waiter);
    });
  }
}

function areSameRules(one: Rules | undefined, other: Rules | undefined): boolean {
  if (one === other) return true;
  if (one?.length !== other?.length) return false;
  return (one ?? []).every(
    ({ pathPrefix, userAgentPrefix }, at) =>
      pathPrefix === other?.[at]?.pathPrefix && userAgentPrefix === other?.[at]?.userAgentPrefix,
  );
}
