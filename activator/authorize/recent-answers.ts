import { LRUCache } from "lru-cache";
import { ownText } from "../../lib/data/own-text.ts";
import { SharedCache } from "../../lib/data/shared-cache.ts";
import { type Rate, TokenBuckets } from "../../lib/queues/token-buckets.ts";
import { ageMs, type ClockReading, readClocks } from "../../lib/time/clock-jumps.ts";
import { QuestionLine, type QuestionLineOptions } from "./question-line.ts";

export interface RecentAnswersOptions<T> extends QuestionLineOptions {
  /** The number of good answers kept, and of others. */
  readonly max: number;
  /** Whether an answer is good. Others are kept apart, so that a client that guesses tokens evicts no good answer. */
  readonly isGood: (answer: T) => boolean;
  /** Who a good answer belongs to; undefined: to the client that asked. Owners share the cache, and the turns of renewals. */
  readonly ownerOf: (answer: T) => string | undefined;
  readonly ttlMs: number;
  /** How long a failed question is remembered, in milliseconds. */
  readonly failureTtlMs: number;
  /** How long one question may take, from its turn on. */
  readonly limitMs: number;
  /** How many questions for one asker, but for renewals, may come to nothing: their answers are not good, or there is none. */
  readonly vainRate: Rate;
  /** Called with the reason why a question could not be answered: an Error, or undefined where it was not asked. */
  readonly onFailure: (error: unknown) => void;
}

interface Known<T> {
  readonly at: ClockReading;
  readonly lifeMs: number;
  /** Undefined: there was none. */
  readonly answer: T | undefined;
}

interface Question<T> {
  readonly key: string;
  readonly asker: string;
  /** The owner of the good answer that it renews. */
  readonly renewedFor: string | undefined;
  readonly ask: (signal: AbortSignal) => Promise<T>;
}

/** The answer to a question that was asked; undefined: there was none. */
interface Asked<T> {
  readonly answer: T | undefined;
}

/**
 * Answers of another service, each valid for a while. New questions and renewals of good answers have a line each, in which
 * askers and owners take turns. A question that has been sent is shared by all who have it. Until it is sent, each asker waits in
 * its own place for it: the line and the failures of one asker are no matter of another.
 */
export class RecentAnswers<T extends object> {
  readonly #options: RecentAnswersOptions<T>;
  readonly #good: SharedCache<Known<T>>;
  readonly #others: LRUCache<string, Known<T>>;
  /** Questions that have been sent, by their key. */
  readonly #sent = new Map<string, Promise<Asked<T>>>();
  /** Questions in line, by their key and whose turn they wait for. */
  readonly #inLine = new Map<string, Promise<T | undefined>>();
  readonly #newQuestions: QuestionLine;
  readonly #renewals: QuestionLine;
  readonly #vain: TokenBuckets;

  constructor(options: RecentAnswersOptions<T>) {
    this.#options = options;
    this.#vain = new TokenBuckets(options.vainRate, options.clock);
    this.#good = new SharedCache(options.max);
    this.#others = new LRUCache({ max: options.max });
    this.#newQuestions = new QuestionLine(options);
    this.#renewals = new QuestionLine(options);
  }

  /**
   * At once, where the answer is known; undefined when there is none to be had now. Never rejects. `asker`: the client, whose
   * questions leave room for those of others.
   */
  get(key: string, asker: string, ask: (signal: AbortSignal) => Promise<T>): T | undefined | Promise<T | undefined> {
    const known = this.#known(key);
    if (known) return known.answer;
    const sent = this.#sent.get(key);
    if (sent) return sent.then(({ answer }) => answer);
    const renewedFor = this.#good.ownerOf(key);
    const [line, by] = renewedFor === undefined ? [this.#newQuestions, asker] : [this.#renewals, renewedFor];
    const place = `${key}\n${by}`;
    const waiting = this.#inLine.get(place);
    if (waiting) return waiting;
    if (!line.hasRoom(by)) {
      this.#options.onFailure(undefined);
      return undefined;
    }
    const answer = this.#waitFor({ key: ownText(key), asker, renewedFor, ask }, line, by).finally(() =>
      this.#inLine.delete(place),
    );
    this.#inLine.set(place, answer);
    return answer;
  }

  #known(key: string): Known<T> | undefined {
    const known = this.#good.get(key) ?? this.#others.get(key);
    return known && ageMs(known.at, readClocks(this.#options.clock)) < known.lifeMs ? known : undefined;
  }

  async #waitFor(question: Question<T>, line: QuestionLine, by: string): Promise<T | undefined> {
    const asked = await line.run(by, async () => this.#turn(question, by));
    if (!asked) this.#options.onFailure(undefined);
    return asked?.answer;
  }

  /** Undefined: the question may not be asked. Another asker may have had its turn before. */
  #turn(question: Question<T>, by: string): Asked<T> | undefined | Promise<Asked<T>> {
    const { key, renewedFor } = question;
    const known = this.#known(key) ?? this.#sent.get(key);
    if (known) return known;
    const isNew = renewedFor === undefined;
    // The permit is taken last: a question that is not asked costs none.
    if (isNew && this.#vain.take(by, 0) === undefined) return undefined;
    const sent = this.#ask(question).then((asked) => {
      this.#sent.delete(key);
      if (isNew && asked.answer && this.#options.isGood(asked.answer)) this.#vain.giveBack(by);
      return asked;
    });
    this.#sent.set(key, sent);
    return sent;
  }

  async #ask(question: Question<T>): Promise<Asked<T>> {
    const { clock, limitMs, onFailure } = this.#options;
    const over = new AbortController();
    const asked = readClocks(clock);
    using _limit = clock.after(limitMs, () => over.abort(new Error(`no answer within ${limitMs} ms`)));
    let answer: T | undefined;
    try {
      answer = await question.ask(over.signal);
    } catch (error) {
      onFailure(error);
    }
    this.#keep(question, asked, answer);
    return { answer };
  }

  /** An answer says what was true when it was asked for, and may have waited here. A failure is kept so that the server gets a rest after it. */
  #keep({ key, asker, renewedFor }: Question<T>, asked: ClockReading, answer: T | undefined): void {
    const { clock, ttlMs, failureTtlMs, isGood, ownerOf } = this.#options;
    const known = answer
      ? { answer, at: asked, lifeMs: ttlMs }
      : { answer, at: readClocks(clock), lifeMs: failureTtlMs };
    // A good answer that could not be renewed now is renewed first the next time.
    const owner = answer ? (isGood(answer) ? (ownerOf(answer) ?? asker) : undefined) : renewedFor;
    if (owner === undefined) {
      this.#others.set(key, known);
      this.#good.delete(key);
    } else {
      this.#good.set(key, owner, known); // found before any other answer
    }
  }
}
