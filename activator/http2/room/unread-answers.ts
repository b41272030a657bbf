import { TurnoverMap } from "../../../lib/data/turnover.ts";
import { IdleList, Link } from "../../pod-connections/idle-list.ts";
import { Rank, Ranking } from "../../pod-connections/ranking.ts";

/** The maximum number of answers of the activator itself that clients have yet to take: 160 MB. */
const answersMax = 20_000;

interface Answer {
  cut(): void;
}

/** Those of one connection, oldest first. */
class OfConnection {
  readonly rank = new Rank<OfConnection>(this);
  readonly answers = new IdleList<Answer>();
}

/**
 * The answers of the activator itself that clients have yet to take. They are no requests in progress, so they have a limit of their own.
 * Beyond it, a connection that has most loses its oldest. "Has most": no other has twice as many.
 */
export class UnreadAnswers {
  readonly #max: number;
  readonly #connections = new TurnoverMap<object, OfConnection>();
  readonly #ranking = new Ranking<OfConnection>();
  #size = 0;

  constructor(max: number = answersMax) {
    this.#max = max;
  }

  /** How many answers of the connection are unread. */
  of(connection: object): number {
    return this.#connections.get(connection)?.answers.size ?? 0;
  }

  /** Returns a function to call once the answer was taken or cut. */
  add(connection: object, answer: Answer): () => void {
    const owner = this.#connections.get(connection) ?? new OfConnection();
    const { answers, rank } = owner;
    this.#connections.set(connection, owner);
    const link = new Link(answer);
    answers.join(link);
    this.#ranking.move(rank, answers.size);
    this.#size += 1;
    const remove = () => {
      if (!link.list) return;
      link.leave();
      this.#ranking.move(rank, answers.size);
      this.#size -= 1;
      if (answers.size === 0) this.#connections.delete(connection);
    };
    this.#cutBeyondLimit();
    return remove;
  }

  #cutBeyondLimit(): void {
    if (this.#size <= this.#max) return;
    this.#ranking.largest?.answers.next?.cut();
  }
}

/** Those of all fronts of the process. */
export const unreadAnswers: UnreadAnswers = new UnreadAnswers();
