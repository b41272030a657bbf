import type { Socket } from "node:net";

/**
 * Every planned exchange progresses within this time. A request to a sandbox that a person suspends waits for its next Pod, and so
 * for the drain of 30 s first.
 */
const stuckMs = 45_000;

/** Gets the state of things. It may be right that nothing moves, so the state is printed for a failure alone. */
type Stuck = (state: string) => void;

/** Checks all open sockets of clients once a second for progress. */
export class StallWatch implements Disposable {
  readonly #look: (socket: Socket) => Promise<string>;
  readonly #watched = new Map<Socket, { moved: number; sinceMs: number; readonly stuck: Stuck }>();
  readonly #timer = setInterval(() => this.#check(), 1_000);

  /** `look` tells the state of things before a stuck connection is cut. */
  constructor(look: (socket: Socket) => Promise<string>) {
    this.#look = look;
  }

  /** Calls `stuck` once the socket has made no progress for too long. Disposing ends the watch. */
  watch(socket: Socket, stuck: Stuck): Disposable {
    this.#watched.set(socket, { moved: 0, sinceMs: performance.now(), stuck });
    return { [Symbol.dispose]: () => void this.#watched.delete(socket) };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const nowMs = performance.now();
    for (const [socket, seen] of this.#watched) {
      // A TLS socket that is closing does not report its written bytes.
      const moved = (socket.bytesRead ?? 0) + (socket.bytesWritten ?? 0);
      if (moved !== seen.moved) Object.assign(seen, { moved, sinceMs: nowMs });
      else if (nowMs - seen.sinceMs > stuckMs) {
        seen.sinceMs = Number.POSITIVE_INFINITY;
        void this.#look(socket).catch(String).then(seen.stuck);
      }
    }
  }
}
