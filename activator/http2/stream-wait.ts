import type { WaitingBudget, WaitingStream } from "./waiting-budget.ts";

/** An exchange, with what waits in both of its directions. */
export interface WaitingSides {
  /** Bytes that it keeps for its client and for its sandbox. */
  readonly waitingBytes: number;
  /** Bytes that it has got from both, less those. */
  readonly passedBytes: number;
  /** Ends it, because it takes memory and its sides take too little. */
  cutStalled(): void;
}

/** Whose memory it takes. */
export type WaitOwner = Pick<WaitingStream, "namespace" | "connection">;

export interface WaitHost {
  readonly waiting: WaitingBudget;
}

/** Counts what waits on one stream, from time to time: most streams end before anything of them is counted. */
export class StreamWait implements WaitingStream {
  readonly namespace: string;
  readonly connection: object;
  readonly #sides: WaitingSides;
  readonly #waiting: WaitingBudget;
  #isClosed = false;

  /** Call `close` when the stream has ended. */
  constructor(sides: WaitingSides, { namespace, connection }: WaitOwner, { waiting }: WaitHost) {
    this.namespace = namespace;
    this.connection = connection;
    this.#sides = sides;
    this.#waiting = waiting;
    waiting.watch(this);
  }

  /** Bytes have arrived for one of its sides. Until then nothing can wait on a stream on which nothing waits. */
  arrived(): void {
    if (!this.#isClosed) this.#waiting.watch(this);
  }

  get waitingBytes(): number {
    return this.#sides.waitingBytes;
  }

  get passedBytes(): number {
    return this.#sides.passedBytes;
  }

  shed(): void {
    this.close();
    this.#sides.cutStalled();
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.release(this);
  }
}
