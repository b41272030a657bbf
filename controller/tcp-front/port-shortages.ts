import { keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxFact } from "../../api/rules/conditions.ts";
import { Subscribers } from "../../lib/data/subscribers.ts";
import type { PortLimit } from "./ports/port-ledger.ts";

/** Ports of a sandbox that have no activator port. */
export interface PortShortage {
  readonly ports: number;
  readonly limitedBy: PortLimit;
}

/** The shortage in the status of a sandbox. */
export type PortShortageFact = Extract<SandboxFact, { type: "ServicePortsAllocated" }>;

const reasons = {
  sandbox: "SandboxPortLimitExceeded",
  namespace: "NamespacePortLimitExceeded",
  range: "PortsExhausted",
} as const;

const causes: Readonly<Record<PortLimit, string>> = {
  sandbox:
    "the sandbox has as many as it may have, or twice as many with those in quarantine (--tcp-front-ports-per-sandbox)",
  namespace: "its namespace has as many as it may have, in use or in quarantine (--tcp-front-ports-per-namespace)",
  range: "all ports of the activators are in use or in quarantine",
};

/** The text for events and conditions. */
export const shortageText = ({ ports, limitedBy }: PortShortage): string =>
  `${ports} of its ports cannot be reached by the Service's name: ${causes[limitedBy]}`;

/** Which sandboxes lack ports now, so that their status can say so. One entry for each that there is, at most. */
export class PortShortages {
  readonly #byUid = new Map<string, PortShortage>();
  readonly #listeners = new Subscribers<string>();

  /** Calls back with the key of each sandbox whose shortage begins, changes or ends. */
  onChange(listener: (key: string) => void): Disposable {
    return this.#listeners.add(listener);
  }

  note(sandbox: Stored<Sandbox>, shortage: PortShortage | undefined): void {
    const { uid } = sandbox.metadata;
    const before = this.#byUid.get(uid);
    if (before?.ports === shortage?.ports && before?.limitedBy === shortage?.limitedBy) return;
    if (shortage) this.#byUid.set(uid, shortage);
    else this.#byUid.delete(uid);
    this.#listeners.notify(keyOf(sandbox));
  }

  /** The sandbox is no more, or uses this no more. */
  forget(uid: string): void {
    this.#byUid.delete(uid);
  }

  /** The number of ports of all sandboxes without an activator port. */
  get ports(): number {
    return this.#byUid.values().reduce((sum, { ports }) => sum + ports, 0);
  }

  factOf(sandbox: Stored<Sandbox>): PortShortageFact | undefined {
    const shortage = this.#byUid.get(sandbox.metadata.uid);
    return (
      shortage && {
        type: "ServicePortsAllocated",
        status: "False",
        reason: reasons[shortage.limitedBy],
        message: shortageText(shortage),
      }
    );
  }
}
