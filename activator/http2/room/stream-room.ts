import { TurnoverMap } from "../../../lib/data/turnover.ts";

/** The place of one request in progress. */
export interface StreamPlace {
  /** It opens no further socket: it has its connection to the sandbox. */
  connected(): void;
  /** It is in progress no more: it has ended, or has got an answer of the activator itself. */
  leave(): void;
}

export interface StreamRoomLimits {
  /** The maximum of requests in progress. */
  readonly max: number;
  /** Whether the process may open one more socket, besides that many that requests in progress may open; absent: always. */
  readonly hasSocket?: ((besides: number) => boolean) | undefined;
}

/** Places for the requests in progress of all connections. A connection gets more only while it has fewer than are left. */
export class StreamRoom {
  readonly #limits: StreamRoomLimits;
  readonly #ofConnections = new TurnoverMap<object, number>();
  #taken = 0;
  /** Of these, how many may still open a socket. */
  #unconnected = 0;

  constructor(limits: StreamRoomLimits) {
    this.#limits = limits;
  }

  hasRoom(connection: object): boolean {
    const { max, hasSocket } = this.#limits;
    const own = this.#ofConnections.get(connection) ?? 0;
    return own < max - this.#taken && (hasSocket?.(this.#unconnected) ?? true);
  }

  take(connection: object): StreamPlace {
    let [isConnected, isTaken] = [false, true];
    this.#count(connection, 1);
    this.#unconnected += 1;
    const connected = () => {
      if (!isConnected) this.#unconnected -= 1;
      isConnected = true;
    };
    const leave = () => {
      connected();
      if (isTaken) this.#count(connection, -1);
      isTaken = false;
    };
    return { connected, leave };
  }

  #count(connection: object, change: number): void {
    this.#taken += change;
    const own = (this.#ofConnections.get(connection) ?? 0) + change;
    if (own === 0) this.#ofConnections.delete(connection);
    else this.#ofConnections.set(connection, own);
  }
}
