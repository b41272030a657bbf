import type { Context } from "@opentelemetry/api";

export type Attributes = Readonly<Record<string, string | number>>;
/** By name, as they go over a wire. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** A piece of work under way. */
export interface Span {
  /** The headers of W3C Trace Context by which others continue it; undefined where nothing is traced. */
  readonly headers: TraceHeaders | undefined;
  event(name: string, attributes: Attributes): void;
  /** Does a part of the work as a span of its own. */
  during<T>(name: string, work: (span: Span) => Promise<T>): Promise<T>;
}

/** A span that ends when it is told to. */
export interface OpenSpan {
  readonly headers: TraceHeaders;
  event(name: string): void;
  /** Says more of what it is about, now that it is known. */
  tell(attributes: Attributes): void;
  /** Begins a part of the work. */
  part(name: string): OpenSpan;
  /** Only the first time counts. `failure`: what went wrong. */
  end(failure?: string): void;
}

export interface SpanStart {
  readonly name: string;
  /** What the span continues; undefined: it begins a trace. */
  readonly parent: Context | undefined;
  readonly attributes: Attributes;
}

/** The one door to tracing. It costs nothing to import: what does the tracing is loaded when it is started. */
export interface Tracer {
  /** False: nothing is recorded, and what only tracing needs to know need not be found out. */
  readonly enabled: boolean;
  /** What the headers of W3C Trace Context say that there is to continue; undefined when they are malformed. */
  parentIn(headers: object): Context | undefined;
  /** Does the work as a span, which ends with it and says whether it failed. */
  during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
  /** Begins a span of something that comes from outside, and ends elsewhere; for nobody where nothing is traced. */
  open(start: SpanStart): OpenSpan | undefined;
}

const untraced: Span = { headers: undefined, event() {}, during: (_, work) => work(untraced) };

/** Does the work and nothing else. */
export const noTracer: Tracer = {
  enabled: false,
  parentIn: () => undefined,
  during: (_, work) => work(untraced),
  open: () => undefined,
};
