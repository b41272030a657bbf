import type { Clock } from "../../../lib/time/clock.ts";
import type { OpenConnection } from "../../activity/open-connections.ts";
import { RawTraffic } from "../../activity/raw-traffic.ts";
import type { Upstream } from "../../connect/connector.ts";
import type { PodAddress } from "../../pod-connections/place.ts";
import { StallWatch, watchOf } from "../../pod-connections/stall-watch.ts";
import type { OpenListener } from "../../proxy-interface.ts";
import { type BufferLoans, ReadPlace } from "../../socket/read-place.ts";
import { closeOnceTaken, cutOff, endWhenQuiet, RelaySide, type RelaySides } from "../../socket/relay.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { Sweep, Watched } from "../../sweep.ts";
import type { TcpClient } from "./tcp-client.ts";

/** How a proxied connection ended: by its two sides, at a limit, because its sandbox was suspended, or because its Pod was gone or the replica exits. */
export type TunnelEnding = "relayed" | "timedOut" | "closedForSleep" | "cut";

export interface TunnelOptions {
  readonly loans: BufferLoans;
  readonly clock: Clock;
  readonly sweep: Sweep;
  /** The maximum time without data, in milliseconds; 0: unlimited. */
  readonly tunnelIdleMs: number;
  /** 0: unlimited. */
  readonly tunnelLifetimeMs: number;
}

/** An hour of silence may be noticed a minute late: ten thousand silent connections must not be checked ten times a second. */
const checksInIdleTime = 60;
/** The silence after which TCP keep-alive probes begin, in milliseconds: a peer that vanished is noticed some seconds later. */
const keepAliveMs = 60_000;

/**
 * Relays bytes both ways until both sides have ended; the end of one side is forwarded alone. Resolves when both sockets are
 * closed.
 */
export async function relayTcp(
  client: TcpClient,
  upstream: Upstream,
  onOpen: (connection: OpenConnection) => OpenListener,
  options: TunnelOptions,
): Promise<TunnelEnding> {
  const tunnel = new TcpTunnel(client.socket, upstream, options);
  tunnel.start(client, onOpen);
  return await tunnel.over;
}

class TcpTunnel implements Watched, OpenConnection {
  sweepIndex = -1;
  readonly place: PodAddress;
  readonly over: Promise<TunnelEnding>;
  readonly #namespace: string;
  readonly #client: WireSocket;
  readonly #pod: WireSocket;
  readonly #options: TunnelOptions;
  #stall = new StallWatch();
  readonly #end: (ending: TunnelEnding) => void;
  #ending: TunnelEnding = "relayed";
  /** Absent until it starts. */
  #sides: RelaySides | undefined;
  #open = 2;
  #endMs = Number.POSITIVE_INFINITY;
  #checkMs = 0;

  constructor(client: WireSocket, { socket, target }: Upstream, options: TunnelOptions) {
    this.#client = client;
    this.#pod = socket;
    this.place = target;
    this.#namespace = target.namespace;
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
    const traffic = new RawTraffic();
    const closed = () => this.#closed();
    const cut = () => this.#cut();
    const clientSent = (length: number, bytes: Buffer) => {
      if (traffic.clientSent(bytes, length)) opened.clientSpoke();
    };
    const sandboxSent = (length: number, bytes: Buffer) => {
      const sent = traffic.sandboxSent(bytes, length);
      if (sent === "answer") opened.sandboxSpoke();
      else if (sent === "rest") opened.moved();
    };
    const up = new RelaySide(this.#client, this.#pod, new ReadPlace(loans, this.#client, this.#namespace), {
      ...{ clock, passed: clientSent, closed, cut, arrived: () => opened.clientSends() },
    });
    const podClosed = () => {
      opened.sandboxEnded(); // what its client still takes needs no Pod
      closed();
    };
    const down = new RelaySide(this.#pod, this.#client, new ReadPlace(loans, this.#pod, this.#namespace), {
      ...{ clock, passed: sandboxSent, closed: podClosed, cut, outlivesSource: true },
    });
    this.#pod.reader = down;
    this.#sides = { up, down };
    const early = client.handOver(up);
    if (early.bytes.length > 0) {
      clientSent(early.bytes.length, early.bytes);
      this.#pod.write(early.bytes);
      up.moved();
    }
    if (early.ended) up.ended();
    for (const socket of [this.#client, this.#pod]) {
      socket.setKeepAlive(true, keepAliveMs);
      socket.readOn();
    }
  }

  /** The Pod is gone: the rest of its data is forwarded. Its end may never arrive, as from a lost node. */
  podGone(nowMs: number): void {
    if (this.#stall.isPodGone) return;
    this.#stall.podGone(nowMs);
    const finish = () => {
      cutOff(this.#pod, this.#client);
      closeOnceTaken(this.#client, this.#options.clock);
      this.#stall = watchOf(this.#options.tunnelIdleMs, this.#options.clock.ticksMs()); // no longer for the Pod
    };
    if (this.#pod.readableEnded) finish();
    else this.#pod.once("end", finish);
  }

  /** Its sandbox is suspended. */
  close(): void {
    this.#ending = "closedForSleep";
    if (this.#sides) endWhenQuiet(this.#pod, this.#client, this.#sides, this.#options.clock);
  }

  check(nowMs: number): void {
    if (nowMs < this.#checkMs && !this.#stall.isPodGone) return;
    const { tunnelIdleMs } = this.#options;
    this.#checkMs = Math.min(this.#endMs, tunnelIdleMs > 0 ? nowMs + tunnelIdleMs / checksInIdleTime : this.#endMs);
    const progress = this.#client.bytesRead + this.#client.bytesWritten + this.#pod.bytesRead + this.#pod.bytesWritten;
    if (nowMs < this.#endMs && !this.#stall.isStalled(progress, nowMs)) return;
    this.#options.sweep.remove(this);
    this.#ending = this.#stall.isPodGone ? "cut" : "timedOut";
    this.#client.reset();
    this.#pod.reset();
  }

  #cut(): void {
    if (this.#ending === "relayed") this.#ending = "cut";
  }

  #closed(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#options.sweep.remove(this);
    this.#end(this.#ending);
  }
}
