import type { Sweep, Watched } from "../sweep.ts";
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
  readonly sweep: Sweep;
  readonly waiting: WaitingBudget;
}

/** Counts what waits on one stream, from time to time: most streams end before anything of them is counted. */
export class StreamWait implements Watched, WaitingStream {
  sweepIndex = -1;
  readonly namespace: string;
  readonly connection: object;
  readonly #sides: WaitingSides;
  readonly #host: WaitHost;

  /** Call `close` when the stream has ended. */
  constructor(sides: WaitingSides, { namespace, connection }: WaitOwner, host: WaitHost) {
    this.namespace = namespace;
    this.connection = connection;
    this.#sides = sides;
    this.#host = host;
    host.sweep.add(this);
  }

  check(nowMs: number): void {
    const { waitingBytes, passedBytes } = this.#sides;
    this.#host.waiting.keep(this, { bytes: waitingBytes, passed: passedBytes, nowMs });
  }

  shed(): void {
    this.close();
    this.#sides.cutStalled();
  }

  close(): void {
    this.#host.sweep.remove(this);
    this.#host.waiting.release(this);
  }
}
