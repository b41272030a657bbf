import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SetsByKey } from "../data/sets-by-key.ts";
import { type Clock, systemClock, type Timer } from "../time/clock.ts";
import { answerMalformed } from "./answer-malformed.ts";
import { oneRequestAtATime } from "./one-request.ts";
import { tcpSocketOf } from "./tcp-socket.ts";
import { limitTlsOverhead } from "./tls-overhead.ts";

export interface ConnectionLimits {
  /** The maximum number of open connections, including those in a TLS handshake. */
  readonly max: number;
  /** The maximum of one remote address, or of one share. */
  readonly perPeerMax: number;
  /** Which remote addresses count as one; absent: each for itself. */
  readonly shareOf?: (remoteAddress: string) => string;
  /** Called for each connection that was closed in favour of a new one. */
  readonly onShed?: () => void;
  /** Milliseconds for a client to read a completely written response; absent: no limit. */
  readonly answerTakenWithinMs?: number;
  /** Absent: the system's. */
  readonly clock?: Clock | undefined;
}

export interface LimitedConnections {
  readonly size: number;
  /** Closes all connections, including those in a TLS handshake, which Node's `closeAllConnections` leaves open. */
  closeAll(): void;
}

/**
 * Limits of an HTTP or HTTPS server that any client can reach, in milliseconds: a TLS handshake, and then the head of a
 * request, take a client a few round trips. Node checks the limits once in each `connectionsCheckingInterval`.
 * A connection has one request at a time.
 */
export const strangerLimits = {
  ...oneRequestAtATime,
  handshakeTimeout: 5_000,
  headersTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
} as const;

/**
 * Limits the connections of a server, in total and for each remote address. Idle connections make room for a new one.
 * At the limit, the connection that has been idle for longest is closed: first one without a request yet (including an
 * unfinished TLS handshake), then one between two requests, then one with an incomplete request. A handshake or a request
 * that began less than two seconds ago is in progress, and so is a request that waits for its response: those make room
 * only if their address holds more connections than the new one's, the address that holds most first. So a few addresses
 * cannot keep others out. Then a connection of the new one's address makes room, unless it waits for its response, and at
 * last the new connection is closed. A client that does not read its response
 * in time is closed too: Node waits for it without a limit, and its connection would count as waiting. Malformed requests get their
 * answer, see `answerMalformed`. A connection over TLS that brings bytes without data is cut, see `limitTlsOverhead`.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): LimitedConnections {
  const connections = new OpenConnections(limits);
  answerMalformed(server, limits.clock);
  limitTlsOverhead(server, limits);
  server.prependListener("connection", (socket: Socket) => connections.opened(socket));
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) =>
    connections.requested(request, response),
  );
  return connections;
}

/** A round trip or two, and a body of the usual size, take less. */
const inProgressMs = 2_000;

class Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** Among the open connections of its address. */
  readonly #place: Disposable;
  /** Increases with each step of any connection, so the least value has been idle for longest. */
  lastStep = 0;
  lastStepMs = 0;
  isHeard = false;
  /** Unanswered requests, and those of them that are incomplete. */
  unanswered = 0;
  incomplete = 0;

  constructor(socket: Socket, peer: string, ofPeer: SetsByKey<Connection>) {
    this.socket = socket;
    this.peer = peer;
    this.#place = ofPeer.add(peer, this);
  }

  /** Gives back its place, once: it was closed, perhaps for another one before its socket says so. */
  leave(): void {
    this.#place[Symbol.dispose]();
  }

  /** The order in which connections are closed, the lowest first; undefined: it waits for its response. */
  get rank(): number | undefined {
    if (!this.isHeard) return 0;
    if (this.unanswered === 0) return 1;
    return this.incomplete > 0 ? 2 : undefined;
  }

  isInProgress(nowMs: number): boolean {
    if (this.rank === undefined) return true;
    return this.rank !== 1 && nowMs - this.lastStepMs < inProgressMs;
  }
}

class OpenConnections implements LimitedConnections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<Connection>();
  /** The open connections of each address: their number is never another than what is open. */
  readonly #ofPeer = new SetsByKey<Connection>();
  /** By the accepted socket. Addresses and ports do not tell connections apart, because the next one may have the same. */
  readonly #bySocket = new WeakMap<Socket, Connection>();
  #steps = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  closeAll(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  opened(socket: Socket): void {
    const { shareOf = (address: string) => address } = this.#limits;
    const peer = socket.remoteAddress === undefined ? undefined : shareOf(socket.remoteAddress);
    if (peer === undefined || !this.#makeRoom(peer)) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, peer, this.#ofPeer);
    this.#step(connection);
    this.#open.add(connection);
    this.#bySocket.set(socket, connection);
    socket.once("close", () => this.#closed(connection));
  }

  requested(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#bySocket.get(tcpSocketOf(request.socket));
    if (!connection) return;
    connection.isHeard = true;
    connection.unanswered += 1;
    this.#step(connection);
    let isWhole = request.complete;
    if (!isWhole) connection.incomplete += 1;
    const whole = () => {
      if (isWhole) return;
      isWhole = true;
      connection.incomplete -= 1;
      this.#step(connection);
    };
    request.once("end", whole);
    const limit = this.#limitTaking(request, response);
    response.once("close", () => {
      limit[Symbol.dispose]();
      whole();
      connection.unanswered -= 1;
      this.#step(connection);
    });
  }

  /** Starts at the call of `end`: earlier writes take the time that their content needs. */
  #limitTaking({ socket }: IncomingMessage, response: ServerResponse): Disposable {
    const { answerTakenWithinMs: limitMs, clock = systemClock } = this.#limits;
    let timer: Timer | undefined;
    if (limitMs !== undefined) {
      response.once("prefinish", () => {
        timer = clock.after(limitMs, () => socket.destroy());
      });
    }
    return { [Symbol.dispose]: () => timer?.cancel() };
  }

  #step(connection: Connection): void {
    this.#steps += 1;
    connection.lastStep = this.#steps;
    connection.lastStepMs = this.#nowMs();
  }

  #makeRoom(peer: string): boolean {
    const { max, perPeerMax } = this.#limits;
    const isPeerFull = this.#ofPeer.of(peer).size >= perPeerMax;
    if (!isPeerFull && this.#open.size < max) return true;
    this.#limits.onShed?.();
    const shed = isPeerFull ? this.#mostIdleOf(peer) : this.#nextToClose(peer);
    if (!shed) return false;
    shed.socket.destroy();
    this.#closed(shed);
    return true;
  }

  #nextToClose(peer: string): Connection | undefined {
    const nowMs = this.#nowMs();
    return (
      this.#mostIdle((connection) => !connection.isInProgress(nowMs)) ??
      this.#ofGreatest(this.#ofPeer.of(peer).size) ??
      this.#mostIdleOf(peer)
    );
  }

  /** A connection of the peer that holds most, if that is more than `held`. */
  #ofGreatest(held: number): Connection | undefined {
    const heldBy = (connection: Connection) => this.#ofPeer.of(connection.peer).size;
    let most = held;
    for (const connection of this.#open) most = Math.max(most, heldBy(connection));
    return most > held ? this.#mostIdle((connection) => heldBy(connection) === most) : undefined;
  }

  #mostIdleOf(peer: string): Connection | undefined {
    return this.#mostIdle((connection) => connection.peer === peer && connection.rank !== undefined);
  }

  #mostIdle(mayBe: (connection: Connection) => boolean): Connection | undefined {
    let found: Connection | undefined;
    for (const connection of this.#open) {
      if (mayBe(connection) && (!found || isSooner(connection, found))) found = connection;
    }
    return found;
  }

  #nowMs(): number {
    return (this.#limits.clock ?? systemClock).ticksMs();
  }

  #closed(connection: Connection): void {
    this.#open.delete(connection);
    connection.leave();
  }
}

function isSooner(one: Connection, other: Connection): boolean {
  const [oneRank = 3, otherRank = 3] = [one.rank, other.rank];
  return oneRank === otherRank ? one.lastStep < other.lastStep : oneRank < otherRank;
}
