import type { Logger } from "../../lib/log/log.ts";
import type { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import type { TraceHeaders } from "../../lib/tracing/tracer.ts";
import type { Allowed } from "../authorize/authorizer.ts";
import type { DialError } from "../connect/dial.ts";
import type { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import type { Ended, Incoming } from "../request.ts";
import type { AccessLog } from "./access-log.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { WakeOutcome } from "./wake-metrics.ts";
import { WakeRecord, type WakeRecordOptions } from "./wake-record.ts";

export interface RequestRecordOptions extends WakeRecordOptions {
  readonly requests: RequestMetrics;
  /** Absent: no access log. */
  readonly accessLog: AccessLog | undefined;
  readonly log: Logger;
  /** Limits log lines for a client in a loop. */
  readonly mayLog: OncePerMinute;
  /** Whether a namespace has a sandbox; others must not become metric labels. */
  readonly knowsSandbox: (namespace: string, name: string) => boolean;
}

/** The outcome of a wake whose request got no response of the sandbox. A wait page is no failure: it asks again by itself. */
function unansweredOutcome(reason: string | undefined): WakeOutcome {
  if (reason === "ClientGone") return "clientLeft";
  return reason === "Waking" ? "waitPage" : "refused";
}

/** Records one request. */
export class RequestRecord extends WakeRecord {
  protected readonly trigger = "request";
  /** The trace that the request belongs to; undefined: it is not traced. */
  readonly trace: TraceHeaders | undefined = undefined;
  readonly #incoming: Incoming;
  readonly #options: RequestRecordOptions;
  #routed: Routed | undefined;
  /** Set once that sandbox is known to exist. */
  #knownNamespace: string | undefined;
  #reason: string | undefined;

  constructor(incoming: Incoming, options: RequestRecordOptions) {
    super(incoming.seenMs, options);
    this.#incoming = incoming;
    this.#options = options;
  }

  routed(routed: Routed): Routed {
    this.#routed = routed;
    return routed;
  }

  /** Runs the authorization and counts it. */
  decided(authorize: () => Allowed | Promise<Allowed>): Allowed | Promise<Allowed> {
    try {
      const allowed = authorize();
      if (!(allowed instanceof Promise)) return this.#allowed(allowed);
      return allowed.then(
        (later) => this.#allowed(later),
        (error: unknown) => this.#denied(error),
      );
    } catch (error) {
      return this.#denied(error);
    }
  }

  dialFailed(_error: DialError): void {
    this.#options.requests.retried(this.#namespace());
  }

  refused(error: ActivatorError): void {
    const { requests } = this.#options;
    this.#reason = error.code;
    requests.refused(error.code);
    // Unauthenticated clients are rejected before their target is read.
    if (error.status === 401 && !this.#routed) requests.decided(this.#namespace(), "deny");
    if (error.code === "SandboxSlow") requests.upstreamFailed(this.#namespace(), "timeout");
    if (error.code === "ConnectFailed") requests.upstreamFailed(this.#namespace(), "dial");
    if (error.code === "ResponseLost") requests.upstreamFailed(this.#namespace(), "eof");
    if (error.code === "UnaskedUpgrade") requests.upstreamFailed(this.#namespace(), "other");
    if (error.cause || error.code === "Unexpected") this.#logCause(error);
  }

  clientLeft(): void {
    this.#reason ??= "ClientGone";
  }

  ended(ended: Ended): void {
    const { requests, clock, accessLog } = this.#options;
    const { head, seenMs } = this.#incoming;
    const durationMs = clock.ticksMs() - seenMs;
    requests.ended(head.method, ended.status, this.#namespace(), durationMs / 1000);
    const wake = this.wakeEnded(unansweredOutcome(this.#reason));
    accessLog?.add({ head, ended, durationMs, reason: this.#reason, wake, trace: this.trace, routed: this.#routed });
  }

  #logCause({ cause: err, code: reason }: ActivatorError): void {
    const { log, mayLog } = this.#options;
    const namespace = this.#namespace();
    const sandbox = namespace === "-" ? "-" : this.#routed?.name; // names without a sandbox are the client's choice
    if (!mayLog.asks(`${reason} ${namespace}/${sandbox}`)) return;
    if (reason === "Unexpected") log.error({ err, namespace, sandbox }, "unexpected error while serving a request");
    else log.warn({ err, reason, namespace, sandbox }, "request rejected");
  }

  #allowed(allowed: Allowed): Allowed {
    this.#options.requests.decided(this.#namespace(), "allow");
    return allowed;
  }

  #denied(error: unknown): never {
    this.#options.requests.decided(this.#namespace(), "deny");
    throw error;
  }

  #namespace(): string {
    if (this.#knownNamespace !== undefined || !this.#routed) return this.#knownNamespace ?? "-";
    const { namespace, name } = this.#routed;
    if (!this.#options.knowsSandbox(namespace, name)) return "-";
    this.#knownNamespace = namespace;
    return namespace;
  }
}
