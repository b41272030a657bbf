import {
  type BusyAnswer,
  type BusyRequest,
  drainPaths,
  parseBusyAnswer,
} from "../../../api/between-programs/drain-protocol.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Activator, ActivatorFinder } from "./activators.ts";
import { type DrainCall, DrainUnknownCall } from "./drain-client.ts";

export interface AskThroughActivatorsOptions {
  readonly finder: Pick<ActivatorFinder, "known">;
  readonly call: DrainCall;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether an activator did not answer when it was last asked for its requests in flight. */
  readonly isSilent: (activator: Activator) => boolean;
}

/** What came of asking a workload through the activators. */
export type AskedThrough =
  | { readonly is: "answered"; readonly status: number }
  /** Nothing may be sent to its Pod. */
  | { readonly is: "fenced" }
  /** No activator could ask it, or it did not answer in time. */
  | { readonly is: "unanswered" };

/** For all activators together: a hanging activator and a following successful one take less. */
const limitMs = 14_000;

/**
 * Has an activator ask a workload whether it is busy. What an activator fails to answer here counts as no silence of it: it may well
 * answer the calls of the handshake.
 */
export class AskThroughActivators {
  readonly #options: AskThroughActivatorsOptions;
  /** Runs of existing activators whose release does not know the call. */
  readonly #older = new Set<string>();
  /** With which activator the next question begins, so that they take turns. */
  #turn = 0;

  constructor(options: AskThroughActivatorsOptions) {
    this.#options = options;
  }

  /** Ends with the first activator that asks the workload. Rejects only once the signal is aborted. */
  async ask(question: BusyRequest, signal: AbortSignal): Promise<AskedThrough> {
    const limit = new AbortController();
    const { clock, log } = this.#options;
    using _timer = clock.after(limitMs, () => limit.abort(new Error("the activators did not answer in time")));
    const either = AbortSignal.any([signal, limit.signal]);
    for (const activator of this.#inTurn()) {
      try {
        const answer = await this.#askBy(activator, question, either);
        const result = resultOf(answer);
        if (result) return result;
        log.debug({ activator: activator.id, ...answer }, "an activator did not send the busy probe");
      } catch (err) {
        signal.throwIfAborted();
        if (err instanceof DrainUnknownCall) this.#older.add(runOf(activator));
        log.debug({ err, activator: activator.id }, "could not send a busy probe through an activator");
        if (limit.signal.aborted) break;
      }
    }
    return { is: "unanswered" };
  }

  /** Those that may know the call, each question beginning with another one. */
  #inTurn(): readonly Activator[] {
    const { finder, isSilent } = this.#options;
    const known = finder.known();
    const runs = new Set(known.map(runOf));
    for (const run of this.#older) if (!runs.has(run)) this.#older.delete(run);
    const able = known.filter((one) => one.address && !isSilent(one) && !this.#older.has(runOf(one)));
    this.#turn = (this.#turn + 1) % Math.max(able.length, 1);
    return [...able.slice(this.#turn), ...able.slice(0, this.#turn)];
  }

  async #askBy({ address }: Activator, question: BusyRequest, signal: AbortSignal): Promise<BusyAnswer> {
    if (!address) throw new Error("it has no address");
    const answer = parseBusyAnswer(await this.#options.call(address, drainPaths.busy, question, signal));
    if (!answer) throw new Error("the answer is not of the protocol");
    return answer;
  }
}

/** Undefined where another activator may say more. */
function resultOf(answer: BusyAnswer): AskedThrough | undefined {
  if (!answer.asked) return answer.reason === "Fenced" ? { is: "fenced" } : undefined;
  return answer.status === undefined ? { is: "unanswered" } : { is: "answered", status: answer.status };
}

/** An update of a Pod in place makes another run of it. */
const runOf = ({ id, endpoint }: Activator): string => endpoint?.run ?? id;
