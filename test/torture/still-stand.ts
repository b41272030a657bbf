import type { Socket } from "node:net";

/** No exchange of a plan rests for so long. */
const stuckMs = 30_000;

/** Looks once a second at all sockets that clients have open. */
export class StillStand implements Disposable {
  readonly #watched = new Map<Socket, { moved: number; sinceMs: number; readonly stuck: () => void }>();
  readonly #timer = setInterval(() => this.#look(), 1_000);

  /** Calls `stuck` once nothing has moved on the socket for too long; disposing ends that. */
  watch(socket: Socket, stuck: () => void): Disposable {
    this.#watched.set(socket, { moved: 0, sinceMs: performance.now(), stuck });
    return { [Symbol.dispose]: () => void this.#watched.delete(socket) };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = performance.now();
    for (const [socket, seen] of this.#watched) {
      // An encrypted one that is closing does not say how much it has written.
      const moved = (socket.bytesRead ?? 0) + (socket.bytesWritten ?? 0);
      if (moved !== seen.moved) Object.assign(seen, { moved, sinceMs: nowMs });
      else if (nowMs - seen.sinceMs > stuckMs) seen.stuck();
    }
  }
}
