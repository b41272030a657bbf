import type { Clock } from "../../lib/clock.ts";
import type { OpenConnection, OpenConnectionBook } from "../activity/open-connections.ts";
import type { OpenListener } from "../carry/carry.ts";
import { StallWatch } from "../carry/stall-watch.ts";
import type { Upstream } from "../reach/connector.ts";
import type { BufferLoans } from "../socket/read-place.ts";
import { endRelay, RelaySide } from "../socket/relay.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import type { Sweep, Watched } from "../sweep.ts";
import type { TcpClient } from "./tcp-client.ts";

/** How a carried connection ended: by its own two ends, at one of our limits, or because its sandbox goes to sleep. */
export type TunnelEnding = "carried" | "timedOut" | "closedForSleep";

export interface TunnelOptions {
  readonly loans: BufferLoans;
  readonly clock: Clock;
  readonly sweep: Sweep;
  /** All that is carried; closed when its Pod is gone. */
  readonly carried: OpenConnectionBook;
  /** Longest time in which nothing moves; 0 means no limit. */
  readonly tunnelIdleMs: number;
  /** 0 means no limit. */
  readonly tunnelLifetimeMs: number;
}

/** An hour's silence may be noticed a minute late: ten thousand quiet connections must not be looked at ten times a second. */
const looksInIdleTime = 60;
/** A side that vanished without a word is noticed after so long, and some seconds of probes. */
const keepAliveMs = 60_000;

/**
 * Passes bytes both ways until both sides have ended; an end of one side is passed on alone. Resolves when both sockets are closed.
 */
export async function carryTcp(
  client: TcpClient,
  { socket, target: { podUid } }: Upstream,
  onOpen: (connection: OpenConnection) => OpenListener,
  options: TunnelOptions,
): Promise<TunnelEnding> {
  const tunnel = new TcpTunnel(client.socket, socket, options);
  using _ended = options.carried.add(podUid, { close: () => tunnel.podGone() });
  tunnel.start(client, onOpen);
  return await tunnel.over;
}

class TcpTunnel implements Watched, OpenConnection {
  sweepIndex = -1;
  readonly over: Promise<TunnelEnding>;
  readonly #client: WireSocket;
  readonly #pod: WireSocket;
  readonly #options: TunnelOptions;
  readonly #stall = new StallWatch();
  readonly #end: (ending: TunnelEnding) => void;
  #ending: TunnelEnding = "carried";
  #open = 2;
  #endMs = Number.POSITIVE_INFINITY;
  #lookMs = 0;

  constructor(client: WireSocket, pod: WireSocket, options: TunnelOptions) {
    this.#client = client;
    this.#pod = pod;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<TunnelEnding>();
    this.over = promise;
    this.#end = resolve;
  }

  start(client: TcpClient, onOpen: (connection: OpenConnection) => OpenListener): void {
    const { loans, clock, sweep, tunnelIdleMs, tunnelLifetimeMs } = this.#options;
    const nowMs = clock.ticksMs();
    this.#stall.limit(tunnelIdleMs, nowMs);
    if (tunnelLifetimeMs > 0) this.#endMs = nowMs + tunnelLifetimeMs;
    sweep.add(this);
    const opened = onOpen(this);
    const listener = {
      passed: (length: number) => {
        if (length > 0) opened.moved();
      },
      closed: () => this.#closed(),
    };
    const up = new RelaySide(this.#client, this.#pod, loans, listener);
    this.#pod.reader = new RelaySide(this.#pod, this.#client, loans, listener);
    const early = client.handOver(up);
    if (early.bytes.length > 0) {
      opened.moved();
      this.#pod.write(early.bytes);
    }
    if (early.ended) up.ended();
    for (const socket of [this.#client, this.#pod]) socket.setKeepAlive(true, keepAliveMs).resume();
  }

  /** There is nobody left to hear the client: what its sandbox still said is passed on, and that was all. */
  podGone(): void {
    const finish = () => {
      this.#pod.destroy();
      this.#client.destroySoon();
    };
    if (this.#pod.readableEnded) finish();
    else this.#pod.once("end", finish);
  }

  /** Its sandbox goes to sleep. */
  close(): void {
    this.#ending = "closedForSleep";
    endRelay(this.#pod, this.#client, this.#options.clock);
  }

  check(nowMs: number): void {
    if (nowMs < this.#lookMs) return;
    const { tunnelIdleMs } = this.#options;
    this.#lookMs = Math.min(this.#endMs, tunnelIdleMs > 0 ? nowMs + tunnelIdleMs / looksInIdleTime : this.#endMs);
    const progress = this.#client.bytesRead + this.#client.bytesWritten + this.#pod.bytesRead + this.#pod.bytesWritten;
    if (nowMs < this.#endMs && !this.#stall.isStalled(progress, nowMs)) return;
    this.#options.sweep.remove(this);
    this.#ending = "timedOut";
    this.#client.resetAndDestroy();
    this.#pod.resetAndDestroy();
  }

  #closed(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#options.sweep.remove(this);
    this.#end(this.#ending);
  }
}
