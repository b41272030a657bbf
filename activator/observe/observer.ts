import type { Tracer } from "../../lib/tracing/tracer.ts";
import type { Incoming } from "../request.ts";
import { RequestRecord, type RequestRecordOptions } from "./request-record.ts";
import { spanOf, TracedRequestRecord } from "./traced-request-record.ts";

export interface ObserverOptions extends RequestRecordOptions {
  readonly tracer: Tracer;
}

/** Records every request: metrics, access log, timelines, traces. It decides nothing. */
export class Observer {
  readonly #options: ObserverOptions;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  begin(incoming: Incoming): RequestRecord {
    this.#options.requests.began();
    const span = this.#options.tracer.enabled ? spanOf(incoming.head, this.#options.tracer) : undefined;
    const record = span
      ? new TracedRequestRecord(incoming, this.#options, span)
      : new RequestRecord(incoming, this.#options);
    incoming.onEnded((ended) => record.ended(ended));
    return record;
  }
}
