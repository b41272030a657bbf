import {
  drainPaths,
  type ListeningAnswer,
  type ListeningPort,
  listeningPortsLimit,
  parseListeningAnswer,
} from "../../api/between-programs/drain-protocol.ts";
import type { EndpointSlice } from "../../api/between-programs/tcp-front.ts";
import type { Logger } from "../../lib/log/log.ts";
import { aborted, type Running, startTask } from "../../lib/process/lifecycle.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Activator, ActivatorFinder } from "../suspension/activators/activators.ts";
import type { DrainCall } from "../suspension/activators/drain-client.ts";
import { Confirmations, type Lane } from "./confirmations.ts";

export interface ConfirmerOptions {
  readonly finder: ActivatorFinder;
  readonly call: DrainCall;
  readonly clock: Clock;
  readonly log: Logger;
  /** More, or less, is known about a sandbox of this UID. */
  readonly onNews: (sandboxUid: string) => void;
  /** An activator does not open these ports for now, for they stood for others not long ago. */
  readonly onResting: (activatorPorts: readonly number[]) => void;
}

/** What a crowd of sandboxes asks within so long is one question. */
const gatherMs = 20;
/**
 * An activator that does not listen yet may wait for its own view of the slices; one that never will is rarely asked, but
 * again soon when it has left something else unconfirmed.
 */
const backoff: Backoff = { baseMs: 250, maxMs: 30_000, jitter: 0.2 };

/**
 * Asks activators whether they listen, in bulk, while something is unconfirmed; at rest it makes no calls. What is new does
 * not wait for what an activator has left unconfirmed: two calls to each at a time, one about either.
 */
export class Confirmer implements Running {
  readonly #options: ConfirmerOptions;
  readonly #confirmations = new Confirmations();
  /** The lanes with a call in progress. */
  readonly #busy = new Set<string>();
  /** By activator: has the pause before it is asked again begin anew. */
  readonly #pauses = new Map<string, AbortController>();
  readonly #asking = new Set<Promise<void>>();
  readonly #task: Running;
  #signal: AbortSignal | undefined;

  constructor(options: ConfirmerOptions) {
    this.#options = options;
    this.#task = startTask("the confirmations of activators", async (signal) => {
      this.#signal = signal;
      await aborted(signal);
      await Promise.all(this.#asking);
    });
    this.#confirmations.activators(options.finder.known());
  }

  get failed(): Promise<never> {
    return this.#task.failed;
  }

  get missing(): number {
    return this.#confirmations.missing;
  }

  /** The activators that the finder knows now. */
  activatorsChanged(): void {
    for (const id of this.#confirmations.activators(this.#options.finder.known())) this.#beginAnew(id);
    this.#askAll();
  }

  /** What slices say when this controller begins to lead. */
  takeOver(slices: readonly EndpointSlice[]): void {
    const activators = this.#options.finder.known();
    for (const slice of slices) this.#confirmations.takeOver(slice, activators);
  }

  want(sandboxUid: string, ports: readonly number[]): void {
    this.#confirmations.want(sandboxUid, ports);
    this.#askAll();
  }

  listens(activator: string, pair: ListeningPort): boolean {
    return this.#confirmations.listens(activator, pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#task[Symbol.asyncDispose]();
  }

  #askAll(): void {
    for (const activator of this.#options.finder.known()) {
      for (const lane of ["unasked", "unsaid"] as const) this.#ask(activator, lane);
    }
  }

  /** Asks until this lane has no questions left; no-op while it is already asking. */
  #ask({ id }: Activator, lane: Lane): void {
    const busy = `${lane} ${id}`;
    const signal = this.#signal;
    if (!signal || signal.aborted || this.#busy.has(busy) || !this.#has(id, lane)) return;
    this.#busy.add(busy);
    const conversation = lane === "unasked" ? this.#askNew(id, signal) : this.#askAgain(id, signal);
    const asking = conversation
      .catch(() => {}) // it is stopping
      .finally(() => {
        this.#busy.delete(busy);
        this.#asking.delete(asking);
      });
    this.#asking.add(asking);
  }

  #has = (id: string, lane: Lane): boolean => this.#confirmations.questions(id, lane, 1).length > 0;

  async #askNew(id: string, signal: AbortSignal): Promise<void> {
    while (this.#has(id, "unasked")) {
      await this.#options.clock.sleep(gatherMs, signal);
      const activator = this.#known(id);
      if (!activator) return;
      if (!(await this.#askOnce(activator, "unasked", signal))) this.#beginAnew(id);
      this.#ask(activator, "unsaid");
    }
  }

  async #askAgain(id: string, signal: AbortSignal): Promise<void> {
    const round = async (): Promise<number | undefined> => {
      const activator = this.#known(id);
      if (!activator || !this.#has(id, "unsaid")) return undefined;
      if (!(await this.#askOnce(activator, "unsaid", signal))) throw new Error("some are still unconfirmed");
      return this.#has(id, "unsaid") ? backoff.baseMs : undefined;
    };
    const wait = (ms: number) => this.#pause(id, ms, signal);
    const { clock } = this.#options;
    const firstInMs = backoffDelayMs(1, backoff);
    await repeatUntilDone({ clock, signal, backoff, firstInMs, round, wait, onFailure: () => undefined });
  }

  #known = (id: string): Activator | undefined => this.#options.finder.known().find((one) => one.id === id);

  async #pause(id: string, ms: number, signal: AbortSignal): Promise<"over" | "anew"> {
    const pause = new AbortController();
    // A first pause does not begin anew: with ever new questions it would never be over.
    if (ms > backoff.baseMs) this.#pauses.set(id, pause);
    try {
      await this.#options.clock.sleep(ms, AbortSignal.any([signal, pause.signal]));
      return "over";
    } catch {
      return "anew";
    } finally {
      this.#pauses.delete(id);
    }
  }

  /** Something new was left unconfirmed: it may be confirmed soon, however long others have failed. */
  #beginAnew(id: string): void {
    this.#pauses.get(id)?.abort(new Error("new questions"));
  }

  /** They need other ports than those that were given to them. */
  #heardResting(asked: readonly ListeningPort[], resting: readonly number[]): void {
    if (resting.length === 0) return;
    const { onResting, onNews } = this.#options;
    onResting(resting);
    const ports = new Set(resting);
    for (const { activatorPort, sandboxUid } of asked) if (ports.has(activatorPort)) onNews(sandboxUid);
  }

  /** Returns whether it has confirmed all of them. */
  async #askOnce(activator: Activator, lane: Lane, signal: AbortSignal): Promise<boolean> {
    const { call, log, onNews } = this.#options;
    const ports = this.#confirmations.questions(activator.id, lane, listeningPortsLimit);
    if (ports.length === 0) return true;
    let confirmed: ListeningAnswer | undefined;
    try {
      const { address } = activator;
      confirmed = address && parseListeningAnswer(await call(address, drainPaths.listening, { ports }, signal));
    } catch (err) {
      signal.throwIfAborted();
      log.debug({ err, activator: activator.id }, "an activator did not confirm its listeners; retrying");
    }
    this.#heardResting(ports, confirmed?.resting ?? []);
    for (const uid of this.#confirmations.answered(activator, ports, confirmed?.ports)) onNews(uid);
    return confirmed?.ports.length === ports.length;
  }
}
