import { FairLine } from "../data/fair-line.ts";
import type { Clock } from "./clock.ts";

/**
 * The time that work may block the event loop before timers and sockets get their turn, such as the renewal of a Lease.
 */
const turnMs = 50;
/**
 * After a turn of this length, a single piece of work was too long, and pending network work needs more than one turn.
 */
const longTurnMs = 200;
/** The length of a pause, as a share of the turn before it: the loss of throughput. */
const pauseShare = 0.25;
/** Two consecutive calls to an API server take less. */
const pauseMaxMs = 250;

/**
 * Keeps a process responsive during many consecutive pieces of synchronous work: without a pause between them, promises
 * that resolve at once continue while there is work, and no timer fires (Node documentation, the event loop). A process
 * has one event loop, so all its workers and clients share one instance.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #resting = new FairLine<() => void>();
  /** The start of the current turn of the event loop; undefined: no work was requested in it yet. */
  #beganMs: number | undefined;
  /** `granting`: a piece of work is about to run, and the next one is considered after it. */
  #state: "idle" | "granting" | "waitingForTurn" | "pausing" = "idle";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Call it before a piece of work. Resolves while the turn of the event loop is shorter than 50 ms, else in a later
   * turn: two long pieces never share one. After a turn of 200 ms all wait for a quarter of its length, 250 ms at most.
   *
   * Groups, such as namespaces, take turns: a tenant whose pieces are long delays another by one of them, however many
   * wait. The empty group is for work of no namespace. In a group, a piece that continues work comes before a piece that
   * begins work, so that workers become free for other groups.
   */
  rest(group = "", stage: "begins" | "continues" = "continues"): Promise<void> {
    return new Promise((resolve) => {
      this.#resting.add(group, resolve, stage === "continues");
      if (this.#state === "idle") this.#scheduleGrant();
    });
  }

  /** Reads the time only after all ready promises have run: a piece of work includes its continuations. */
  #scheduleGrant(): void {
    this.#state = "granting";
    queueMicrotask(() => process.nextTick(() => this.#grant()));
  }

  #grant(): void {
    this.#state = "idle";
    if (this.#resting.size === 0) return;
    if (this.#beganMs === undefined) this.#begin();
    else if (this.#clock.ticksMs() - this.#beganMs >= turnMs) {
      this.#state = "waitingForTurn";
      return;
    }
    this.#resting.take()?.();
    this.#scheduleGrant();
  }

  #begin(): void {
    const beganMs = this.#clock.ticksMs();
    this.#beganMs = beganMs;
    setImmediate(() => this.#end(this.#clock.ticksMs() - beganMs));
  }

  #end(heldMs: number): void {
    this.#beganMs = undefined;
    if (heldMs < longTurnMs) {
      if (this.#state === "waitingForTurn") this.#scheduleGrant();
      return;
    }
    this.#state = "pausing";
    this.#clock.after(Math.min(heldMs * pauseShare, pauseMaxMs), () => this.#scheduleGrant());
  }
}
