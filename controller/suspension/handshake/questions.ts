import { Subscribers } from "../../../lib/data/subscribers.ts";
import { FairTasks } from "../../../lib/queues/fair-tasks.ts";
import type { Round } from "./decide-suspension.ts";

/** Rounds of questions at the same time, each with one call to each activator, and those of one namespace. */
const roundsMax = { max: 100, maxOfGroup: 50 };

/** Which sandbox a round is about, and what distinguishes its question from any other one about that sandbox. */
export interface Question {
  /** As `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly sandboxUid: string;
  readonly text: string;
}

interface Asked {
  readonly text: string;
  readonly namespace: string;
  /** The key of its task: a number of its own, for the task of a question that was dropped may still run. */
  readonly task: string;
  readonly stop: AbortController;
  /** Absent until it is answered, or has failed. */
  outcome?: () => Round;
}

/**
 * The rounds of questions to activators that are on their way, and the answers that no pass has used yet. An activator
 * may take seconds to answer, and a worker of the queue does not wait for it: the pass ends, and another one begins with
 * the answers.
 */
export class Questions implements Disposable {
  readonly #bySandbox = new Map<string, Asked>();
  readonly #tasks = new FairTasks(roundsMax);
  readonly #answered = new Subscribers<string>();
  #count = 0;

  /** The number of sandboxes with a question that is on its way or whose answer is not used yet. */
  get size(): number {
    return this.#bySandbox.size;
  }

  /**
   * The answers to a question, once. Undefined while they are not there: then `ask` is called in its turn. Another
   * question about the same sandbox takes the place of the one before.
   *
   * @throws the error of `ask`, once.
   */
  answersTo(question: Question, ask: (signal: AbortSignal) => Promise<Round>): Round | undefined {
    const { sandboxUid, text } = question;
    const asked = this.#bySandbox.get(sandboxUid);
    if (asked?.text !== text) {
      this.drop(sandboxUid);
      this.#begin(question, ask);
      return undefined;
    }
    if (!asked.outcome) return undefined;
    this.#bySandbox.delete(sandboxUid);
    return asked.outcome();
  }

  /** Forgets what was asked about a sandbox. */
  drop(sandboxUid: string): void {
    const asked = this.#bySandbox.get(sandboxUid);
    if (!asked) return;
    this.#bySandbox.delete(sandboxUid);
    this.#tasks.drop(asked.namespace, asked.task);
    asked.stop.abort(new Error("the question is no longer asked"));
  }

  /** Calls back with the key of each sandbox about which a question is answered, or has failed. */
  onAnswered(listener: (key: string) => void): Disposable {
    return this.#answered.add(listener);
  }

  [Symbol.dispose](): void {
    for (const uid of [...this.#bySandbox.keys()]) this.drop(uid);
  }

  #begin({ key, namespace, sandboxUid, text }: Question, ask: (signal: AbortSignal) => Promise<Round>): void {
    this.#count += 1;
    const asked: Asked = { text, namespace, task: String(this.#count), stop: new AbortController() };
    const { signal } = asked.stop;
    this.#bySandbox.set(sandboxUid, asked);
    this.#tasks.add(namespace, asked.task, async () => {
      try {
        const round = await ask(signal);
        asked.outcome = () => round;
      } catch (error) {
        asked.outcome = () => {
          throw error;
        };
      }
      if (!signal.aborted) this.#answered.notify(key);
    });
  }
}
