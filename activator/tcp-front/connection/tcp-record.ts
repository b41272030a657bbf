import type { Logger } from "../../../lib/log/log.ts";
import type { OncePerMinute } from "../../../lib/time/once-per-minute.ts";
import type { ActivatorError, ErrorCode } from "../../failures/errors-for-clients.ts";
import type { AccessLog } from "../../observe/access-log.ts";
import { WakeRecord, type WakeRecordOptions } from "../../observe/wake-record.ts";
import type { Target } from "../../sandbox/resolve.ts";
import type { ConnectionRefusal } from "./refusals.ts";
import type { TcpClient } from "./tcp-client.ts";
import type { TcpDestination } from "./tcp-destination.ts";
import type { TcpMetrics, TcpOutcome } from "./tcp-metrics.ts";
import type { TunnelEnding } from "./tcp-tunnel.ts";

export interface TcpRecordOptions extends WakeRecordOptions {
  readonly metrics: TcpMetrics;
  /** Absent: no access log. */
  readonly accessLog: AccessLog | undefined;
  readonly log: Logger;
  /** Limits log lines for a client in a loop. */
  readonly mayLog: OncePerMinute;
}

/** Records one connection to a port of a sandbox. It decides nothing. */
export class TcpRecord extends WakeRecord {
  protected readonly trigger = "connection";
  readonly #client: TcpClient;
  readonly #to: TcpDestination;
  readonly #options: TcpRecordOptions;
  #outcome: TcpOutcome = "clientLeft";
  #reason: string | undefined;
  #isReached = false;

  constructor(client: TcpClient, to: TcpDestination, options: TcpRecordOptions) {
    super(client.seenMs, options);
    this.#client = client;
    this.#to = to;
    this.#options = options;
    options.metrics.waits();
  }

  // A failed dial is retried until the reason is known.
  dialFailed(): void {}

  override reached(target: Target): void {
    super.reached(target);
    this.#isReached = true;
    const { metrics } = this.#options;
    metrics.waited();
    metrics.relayBegan();
    this.firstByte();
  }

  relayed(ending: TunnelEnding): void {
    this.#outcome = ending;
  }

  connectionRefused(reason: ConnectionRefusal): void {
    this.#refused(reason, undefined);
  }

  refused(error: ActivatorError): void {
    this.#refused(error.code, error);
  }

  ended(): void {
    const { metrics, accessLog, clock } = this.#options;
    if (this.#isReached) metrics.relayEnded();
    else metrics.waited();
    metrics.ended(this.#outcome);
    const wake = this.wakeEnded(this.#outcome === "clientLeft" ? "clientLeft" : "refused");
    const { socket, clientIp, bytesIn, seenMs } = this.#client;
    const { namespace, sandboxName: sandbox, containerPort: port } = this.#to;
    accessLog?.addConnection({
      ...{ namespace, sandbox, port, clientIp, wake },
      durationMs: clock.ticksMs() - seenMs,
      bytesIn,
      bytesOut: socket.bytesWritten,
      outcome: this.#outcome,
      reason: this.#reason,
    });
  }

  #refused(reason: ConnectionRefusal | ErrorCode, error: ActivatorError | undefined): void {
    const { metrics, log, mayLog } = this.#options;
    this.#outcome = "refused";
    this.#reason = reason;
    metrics.refused(reason);
    const { namespace, sandboxName, containerPort: port } = this.#to;
    if (!mayLog.asks(`${reason} ${namespace}/${sandboxName}`)) return;
    const { peer, clientIp } = this.#client;
    const detail = error && { detail: error.detail, err: error.cause };
    log.warn({ reason, namespace, sandbox: sandboxName, port, peer, clientIp, ...detail }, "TCP connection rejected");
  }
}
