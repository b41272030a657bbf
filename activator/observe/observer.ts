import type { WakeTimeline } from "../../api/wake-timeline.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import type { Allowed } from "../authorize/authorizer.ts";
import type { ActivatorError } from "../errors.ts";
import type { Routed } from "../find/find.ts";
import type { DialError } from "../reach/dial.ts";
import type { Journey } from "../reach/reach.ts";
import type { Ended, Incoming } from "../request.ts";
import type { Target } from "../sandbox/look.ts";
import type { Wake } from "../wake/waker.ts";
import type { AccessLog } from "./access-log.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { WakeMetrics, WakeOutcome } from "./wake-metrics.ts";

export interface ObserverOptions {
  readonly clock: Clock;
  readonly requests: RequestMetrics;
  readonly wakes: WakeMetrics;
  /** Absent: no access log. */
  readonly accessLog: AccessLog | undefined;
  readonly log: Logger;
  readonly podSeenMs: (podUid: string) => number | undefined;
  readonly acceptedMs: (target: Target) => number | undefined;
  /** Whether a namespace has a sandbox; others must not become metric labels. */
  readonly knowsSandbox: (namespace: string, name: string) => boolean;
  readonly onWake: ((timeline: WakeTimeline) => void) | undefined;
}

/** Keeps the record of every request: metrics, access log, timelines. It decides nothing. */
export class Observer {
  readonly #options: ObserverOptions;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  begin(incoming: Incoming): Story {
    this.#options.requests.began();
    const story = new Story(incoming, this.#options);
    void incoming.ended.then((ended) => story.ended(ended));
    return story;
  }
}

/** What happened to one request. */
export class Story implements Journey {
  readonly #incoming: Incoming;
  readonly #options: ObserverOptions;
  #routed: Routed | undefined;
  #reason: string | undefined;
  #wake: Wake | undefined;
  #target: Target | undefined;
  #acceptedMs: number | undefined;
  #firstByteMs: number | undefined;

  constructor(incoming: Incoming, options: ObserverOptions) {
    this.#incoming = incoming;
    this.#options = options;
  }

  routed(routed: Routed): Routed {
    this.#routed = routed;
    return routed;
  }

  /** Runs the decision and counts it. */
  decided(authorize: () => Allowed): Allowed {
    try {
      const allowed = authorize();
      this.#options.requests.decided(this.#namespace, "allow");
      return allowed;
    } catch (error) {
      this.#options.requests.decided(this.#namespace, "deny");
      throw error;
    }
  }

  held(): Disposable {
    const { clock, wakes } = this.#options;
    const sinceMs = clock.ticksMs();
    wakes.holdBegan();
    return { [Symbol.dispose]: () => wakes.holdEnded((clock.ticksMs() - sinceMs) / 1000) };
  }

  woke(wake: Wake): void {
    if (wake.mine && wake.patchedMs !== undefined) this.#wake = wake;
  }

  dialFailed(_error: DialError): void {
    this.#options.requests.retried(this.#namespace);
  }

  reached(target: Target): void {
    this.#target = target;
    this.#acceptedMs = this.#options.acceptedMs(target);
  }

  /** The first byte of the response came. */
  firstByte(): void {
    this.#firstByteMs = this.#options.clock.ticksMs();
    const timeline = this.#timeline();
    if (timeline) this.#options.onWake?.(timeline);
  }

  refused(error: ActivatorError): void {
    const { requests, log } = this.#options;
    this.#reason = error.code;
    requests.refused(error.code);
    if (error.code === "SandboxSlow") requests.upstreamFailed(this.#namespace, "timeout");
    if (error.code === "ConnectFailed") requests.upstreamFailed(this.#namespace, "dial");
    if (error.code === "ResponseLost") requests.upstreamFailed(this.#namespace, "eof");
    if (error.code === "UnaskedUpgrade") requests.upstreamFailed(this.#namespace, "other");
    if (error.code === "Unexpected") log.error({ err: error.cause }, "a request failed unforeseen");
    else if (error.cause) log.warn({ err: error.cause, reason: error.code }, "a request was not carried");
  }

  clientLeft(): void {
    this.#reason ??= "ClientGone";
  }

  ended(ended: Ended): void {
    const { requests, wakes, clock, accessLog } = this.#options;
    const { head, seenMs } = this.#incoming;
    const durationMs = clock.ticksMs() - seenMs;
    requests.ended(head.method, ended.status, this.#namespace, durationMs / 1000);
    const wake = this.#timeline();
    if (wake) wakes.wakeEnded(this.#outcome(), (wake.firstByte ?? durationMs) / 1000);
    accessLog?.add({ head, ended, durationMs, reason: this.#reason, wake });
  }

  get #namespace(): string {
    const { namespace, name } = this.#routed ?? { namespace: "", name: "" };
    return this.#options.knowsSandbox(namespace, name) ? namespace : "-";
  }

  #outcome(): WakeOutcome {
    if (this.#firstByteMs !== undefined) return "answered";
    return this.#reason === "ClientGone" ? "clientLeft" : "refused";
  }

  #timeline(): WakeTimeline | undefined {
    if (!this.#wake) return undefined;
    const since = (ms: number | undefined) => (ms === undefined ? undefined : ms - this.#incoming.seenMs);
    return {
      seen: 0,
      wakePatched: since(this.#wake.patchedMs),
      podCreated: since(this.#target && this.#options.podSeenMs(this.#target.podUid)),
      portAccepted: since(this.#acceptedMs),
      firstByte: since(this.#firstByteMs),
    };
  }
}
