import type { Logger } from "../../lib/log.ts";
import type { ActivatorError, ErrorCode } from "../errors.ts";
import type { AccessLog } from "../observe/access-log.ts";
import type { OncePerMinute } from "../observe/once-per-minute.ts";
import { WakeRecord, type WakeRecordOptions } from "../observe/wake-record.ts";
import type { Target } from "../sandbox/look.ts";
import type { PeerRefusal } from "./peers.ts";
import type { Standing } from "./standings.ts";
import type { TcpClient } from "./tcp-client.ts";
import type { TcpMetrics, TcpOutcome } from "./tcp-metrics.ts";
import type { TunnelEnding } from "./tcp-tunnel.ts";

export interface TcpStoryOptions extends WakeRecordOptions {
  readonly metrics: TcpMetrics;
  /** Absent: no access log. */
  readonly accessLog: AccessLog | undefined;
  readonly log: Logger;
  /** A client in a loop must not fill the log. */
  readonly mayLog: OncePerMinute;
}

/** What happened to one connection to a port of a sandbox. It decides nothing. */
export class TcpStory extends WakeRecord {
  protected readonly trigger = "connection";
  readonly #client: TcpClient;
  readonly #standing: Standing;
  readonly #options: TcpStoryOptions;
  #outcome: TcpOutcome = "clientLeft";
  #reason: string | undefined;
  #isReached = false;

  constructor(client: TcpClient, standing: Standing, options: TcpStoryOptions) {
    super(client.seenMs, options);
    this.#client = client;
    this.#standing = standing;
    this.#options = options;
    options.metrics.waits();
  }

  // The dialler's own business: it is tried again until a reason is known.
  dialFailed(): void {}

  override reached(target: Target): void {
    super.reached(target);
    this.#isReached = true;
    const { metrics } = this.#options;
    metrics.waited();
    metrics.carries();
    this.firstByte();
  }

  carried(ending: TunnelEnding): void {
    this.#outcome = ending;
  }

  peerRefused(reason: PeerRefusal): void {
    this.#refused(reason, undefined);
  }

  refused(error: ActivatorError): void {
    this.#refused(error.code, error);
  }

  ended(): void {
    const { metrics, accessLog, clock } = this.#options;
    if (this.#isReached) metrics.carried();
    else metrics.waited();
    metrics.ended(this.#outcome);
    const wake = this.wakeEnded(this.#outcome === "clientLeft" ? "clientLeft" : "refused");
    const { socket, peer, seenMs } = this.#client;
    const { namespace, sandboxName: sandbox, containerPort: port } = this.#standing;
    accessLog?.addConnection({
      ...{ namespace, sandbox, port, peer, wake },
      durationMs: clock.ticksMs() - seenMs,
      bytesIn: socket.bytesRead,
      bytesOut: socket.bytesWritten,
      outcome: this.#outcome,
      reason: this.#reason,
    });
  }

  #refused(reason: PeerRefusal | ErrorCode, error: ActivatorError | undefined): void {
    const { metrics, log, mayLog } = this.#options;
    this.#outcome = "refused";
    this.#reason = reason;
    metrics.refused(reason);
    const { namespace, sandboxName, containerPort: port } = this.#standing;
    if (!mayLog.asks(`${reason} ${namespace}/${sandboxName}`)) return;
    const { peer } = this.#client;
    const detail = error && { detail: error.detail, err: error.cause };
    log.warn({ reason, namespace, sandbox: sandboxName, port, peer, ...detail }, "a connection was not carried");
  }
}
