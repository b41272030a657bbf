import { setTimeout as delay } from "node:timers/promises";
import type { Hibernation } from "../../../api/kinds/sandbox.ts";
import { isSuspensionComplete } from "../../../api/rules/suspension.ts";
import type { Answer, InstalledActivator } from "../../kubernetes/e2e/support/installed-activator.ts";
import { type openSandboxes, sandboxNamed } from "../../kubernetes/e2e/support/sandboxes.ts";
import { eventually } from "../../kubernetes/support/eventually.ts";
import type { Findings } from "../findings.ts";
import type { Answered } from "./expected-state.ts";
import { program } from "./remembering-program.ts";

export type SoakNamespace = Awaited<ReturnType<typeof openSandboxes>>;

export interface SleeperParts {
  readonly namespace: SoakNamespace;
  readonly activator: InstalledActivator;
  readonly findings: Findings;
  /** Whether programs are killed, so that a request may fail. */
  readonly mayFail: boolean;
}

export interface Reply {
  readonly answered: Answered;
  readonly started: string | undefined;
  /** False: an earlier try may have waited for the Pod. */
  readonly isFirst: boolean;
}

/** Longer than a capture with its thaw, or than a program in the back-off of its kubelet. */
const limitMs = 240_000;
const retryMs = 250;

const spec = {
  operatingMode: "Running" as const,
  // Without the answer of the node a sandbox is not suspended, so that nothing is lost because the soak is fast.
  suspensionStrategy: { type: "Hibernate" as const, onFailure: "StayAwake" as const },
  autoSuspension: { inactivityTimeoutSeconds: 1 },
  autoResume: { trigger: "Connection" as const },
};
const pod = { runtimeClassName: "gvisor", automountServiceAccountToken: false };

/** A sandbox that hibernates, as its user and its clients see it. */
export class Sleeper {
  readonly name: string;
  readonly #parts: SleeperParts;

  constructor(name: string, parts: SleeperParts) {
    this.name = name;
    this.#parts = parts;
  }

  async create(): Promise<void> {
    const container = { command: ["node", "--eval", program] };
    await this.#parts.namespace.apply(sandboxNamed(this.name, { spec, container, pod }));
  }

  async delete(): Promise<void> {
    await this.#parts.namespace.run("delete", "sandbox", this.name, "--timeout=120s");
  }

  /** Suspends it as a person does, once its node says that it can keep the memory, unless it is being suspended already. */
  async suspend(): Promise<void> {
    await eventually(async () => (await this.#isSuspending()) || (await this.#isCapturable()), limitMs);
    await this.#parts.namespace.pause(this.name);
  }

  /** Whether it is suspended for inactivity within that time. */
  isSuspendedWithin(ms: number): Promise<boolean> {
    return eventually(() => this.#isSuspending(), ms).then(
      () => true,
      () => false,
    );
  }

  async #isSuspending(): Promise<boolean> {
    return (await this.#parts.namespace.sandbox(this.name)).spec.operatingMode === "Suspended";
  }

  async #isCapturable(): Promise<boolean> {
    const { namespace } = this.#parts;
    const { metadata } = (await namespace.podOf(this.name)) ?? {};
    const images = await namespace.memoryImages();
    return images.some(({ spec, status }) => spec.podUID === metadata?.uid && status?.preflight?.capturable === true);
  }

  /** Waits until it sleeps. */
  async asleep(): Promise<Hibernation> {
    const sleeping = async () => {
      const sandbox = await this.#parts.namespace.sandbox(this.name);
      const isAsleep = sandbox.spec.operatingMode === "Suspended" && isSuspensionComplete(sandbox);
      return isAsleep ? (sandbox.status?.hibernation ?? {}) : undefined;
    };
    return await eventually(sleeping, limitMs);
  }

  /** Asks for a step of a life until there is an answer. */
  async ask(to: number, life = ""): Promise<Reply> {
    const { findings, mayFail } = this.#parts;
    const endMs = performance.now() + limitMs;
    for (let isFirst = true; ; isFirst = false) {
      const answer = await this.#tryToAsk(`/step?to=${to}&life=${life}`);
      if (typeof answer !== "string" && answer.status === 200) {
        return { answered: JSON.parse(answer.body), started: answer.started, isFirst };
      }
      const what = typeof answer === "string" ? answer : `${answer.status} ${answer.reason ?? answer.body}`;
      if (!mayFail) throw new Error(`a request failed: ${what}`);
      findings.count(`requests that failed: ${what}`);
      if (performance.now() > endMs) throw new Error(`no answer for ${limitMs} ms: ${what}`);
      await delay(retryMs);
    }
  }

  #tryToAsk(path: string): Promise<Answer | string> {
    const { activator, namespace } = this.#parts;
    return activator.ask(namespace.at(this.name), { path }).catch((error: unknown) => String(error));
  }

  /** Waits until the status tells how it woke. */
  async wake(): Promise<NonNullable<Hibernation["lastWake"]>> {
    const { namespace } = this.#parts;
    const told = async () => {
      const [{ status }, pod] = await Promise.all([namespace.sandbox(this.name), namespace.podOf(this.name)]);
      const { state, lastWake } = status?.hibernation ?? {};
      if (state !== undefined || !lastWake) return undefined;
      return lastWake.mode === "Anew" || lastWake.podUID === pod?.metadata.uid ? lastWake : undefined;
    };
    return await eventually(told, limitMs);
  }

  /** Waits for the event that tells of lost memory; false if it does not come. */
  hasEventOfLoss(text: string): Promise<boolean> {
    const isThere = async () => {
      const events = await this.#parts.namespace.eventsOf("Sandbox", this.name);
      return events.some(({ reason = "", note = "" }) => lossEvents.includes(reason) && note.endsWith(text));
    };
    return eventually(isThere, 30_000).then(
      () => true,
      () => false,
    );
  }
}

const lossEvents: readonly string[] = ["MemoryLost", "MemoryNotKept"];
