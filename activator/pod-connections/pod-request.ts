import type { WireSocket } from "../socket/wire-socket.ts";
import type { Place } from "./place.ts";
import type { CountedPort, Pool } from "./pool.ts";
import type { SentBody } from "./request-writer.ts";

/**
 * Up to this length, in bytes, a body leaves in one write with its head, and the server reads both together. Of a longer one, the
 * program could lose a part if its server closes the connection right after the response.
 */
const shortBytesMax = 4_096;

/** One request to a Pod, as the pool counts it, and what becomes of its connection. */
export class PodRequest {
  readonly #pool: Pool;
  readonly #socket: WireSocket;
  /** Set while the request is counted there. */
  #port: CountedPort | undefined;
  #asksToClose = false;

  constructor(pool: Pool, socket: WireSocket) {
    this.#pool = pool;
    this.#socket = socket;
  }

  /**
   * The request is sent now, with what has come of its body. Returns whether it asks the server to close the connection: hardly any
   * request could use it again, and after a body the activator must not reset it.
   */
  begin(place: Place, { complete, length }: SentBody, nowMs: number): boolean {
    this.#port = this.#pool.begin(place, nowMs);
    const isShort = complete && length > 0 && length <= shortBytesMax;
    this.#asksToClose = isShort && this.#port.closesNext();
    return this.#asksToClose;
  }

  /**
   * The request and its response have ended, and the connection may serve others if the server agrees. `keepsAlive`: it did not
   * announce to close.
   */
  rest(keepsAlive: boolean, saidMs: number | undefined, hadBody: boolean): void {
    const asked = this.#asksToClose;
    const port = this.#uncount();
    if (!port) this.#socket.destroy();
    else if (keepsAlive && !asked) this.#pool.put(port, this.#socket, saidMs, hadBody);
    else this.#pool.putLeaving(port, this.#socket, hadBody);
  }

  /** It is not counted any more. */
  end(): void {
    const port = this.#uncount();
    if (port) this.#pool.end(port);
  }

  #uncount(): CountedPort | undefined {
    const port = this.#port;
    this.#port = undefined;
    if (this.#asksToClose) port?.closed();
    return port;
  }
}
