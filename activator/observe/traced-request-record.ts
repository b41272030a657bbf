import { ownText } from "../../lib/data/own-text.ts";
import type { OpenSpan, TraceHeaders, Tracer } from "../../lib/tracing/tracer.ts";
import type { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import { type Ended, headerValue, type Incoming, loggedCharactersMax, pathOf, type RequestHead } from "../request.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { Wake } from "../wake/waker.ts";
import { RequestRecord, type RequestRecordOptions } from "./request-record.ts";

/** The span of a request, a child of the client's trace if it sent one. */
export function spanOf(head: RequestHead, tracer: Tracer): OpenSpan | undefined {
  const [traceparent, tracestate] = ["traceparent", "tracestate"].map((name) => headerValue(head.headers, name));
  const parent = traceparent === undefined ? undefined : tracer.parentIn(ownHeaders(traceparent, tracestate));
  // Queries may contain secrets.
  const attributes = {
    "http.method": head.method,
    "http.target": ownText(pathOf(head.target).slice(0, loggedCharactersMax)),
  };
  return tracer.open({ name: `HTTP ${head.method}`, parent, attributes });
}

// Spans wait for their export longer than the request lasts.
const ownHeaders = (traceparent: string, tracestate: string | undefined) => ({
  traceparent: ownText(traceparent),
  tracestate: tracestate && ownText(tracestate),
});

/** Records one request, also as a span with a child for each hold and one for proxying. */
export class TracedRequestRecord extends RequestRecord {
  override readonly trace: TraceHeaders;
  readonly #span: OpenSpan;
  #proxying: OpenSpan | undefined;

  constructor(incoming: Incoming, options: RequestRecordOptions, span: OpenSpan) {
    super(incoming, options);
    this.#span = span;
    this.trace = span.headers;
  }

  override routed(routed: Routed): Routed {
    this.#span.setAttributes({ "sandbox.id": routed.name, "sandbox.namespace": routed.namespace });
    return super.routed(routed);
  }

  override held(): Disposable {
    const hold = super.held();
    const wait = this.#span.part("wait");
    return {
      [Symbol.dispose]() {
        hold[Symbol.dispose]();
        wait.end();
      },
    };
  }

  override woke(wake: Wake): void {
    if (wake.mine && wake.patchedMs !== undefined) this.#span.event("woken");
    super.woke(wake);
  }

  override reached(target: Target): void {
    super.reached(target);
    this.#proxying = this.#span.part("proxy");
  }

  override firstByte(): void {
    this.#proxying?.event("first byte");
    super.firstByte();
  }

  override refused(error: ActivatorError): void {
    this.#span.setAttributes({ "rouse.reason": error.code });
    super.refused(error);
  }

  override ended(ended: Ended): void {
    super.ended(ended);
    this.#span.setAttributes({ "http.status_code": ended.status });
    if (ended.grpcStatus !== undefined) this.#span.setAttributes({ "grpc.status_code": Number(ended.grpcStatus) });
    this.#proxying?.end();
    this.#span.end(ended.status >= 500 ? `answered ${ended.status}` : undefined);
  }
}
