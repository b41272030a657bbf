import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";

export interface RecentAnswersOptions {
  readonly clock: Clock;
  /** So many are kept; the one that was of use longest ago goes first. */
  readonly max: number;
  readonly ttlMs: number;
  /** How long it is kept that a question could not be answered. */
  readonly failureTtlMs: number;
  /** How long one question may take. */
  readonly limitMs: number;
  /** So many questions are open at once; those beyond are not asked. */
  readonly openMax: number;
  /** Told why a question could not be answered: an Error, or undefined where it was not asked. */
  readonly onFailure: (error: unknown) => void;
}

interface Known<T> {
  readonly untilMs: number;
  /** Undefined: there was none. */
  readonly answer: T | undefined;
}

/** Answers of somebody else that are good for a while. Who asks the same at the same time shares one question. */
export class RecentAnswers<T extends object> {
  readonly #options: RecentAnswersOptions;
  readonly #known: LRUCache<string, Known<T>>;
  readonly #open = new Map<string, Promise<T | undefined>>();

  constructor(options: RecentAnswersOptions) {
    this.#options = options;
    this.#known = new LRUCache({ max: options.max });
  }

  /** At once, where the answer is known; undefined when there is none to be had now. Never rejects. */
  get(key: string, ask: (signal: AbortSignal) => Promise<T>): T | undefined | Promise<T | undefined> {
    const { clock, openMax, onFailure } = this.#options;
    const known = this.#known.get(key);
    if (known && clock.ticksMs() < known.untilMs) return known.answer;
    const open = this.#open.get(key);
    if (open) return open;
    if (this.#open.size >= openMax) {
      onFailure(undefined);
      return undefined;
    }
    const asked = this.#ask(key, ask);
    this.#open.set(key, asked);
    return asked;
  }

  async #ask(key: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const { clock, ttlMs, failureTtlMs, limitMs, onFailure } = this.#options;
    const over = new AbortController();
    using _limit = clock.after(limitMs, () => over.abort(new Error(`no answer within ${limitMs} ms`)));
    let answer: T | undefined;
    try {
      answer = await ask(over.signal);
    } catch (error) {
      onFailure(error);
    }
    this.#known.set(key, { answer, untilMs: clock.ticksMs() + (answer ? ttlMs : failureTtlMs) });
    this.#open.delete(key);
    return answer;
  }
}
