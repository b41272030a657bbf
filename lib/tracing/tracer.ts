import type { Context } from "@opentelemetry/api";

export type Attributes = Readonly<Record<string, string | number>>;
/** Headers by name. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** Work in progress. */
export interface Span {
  /** The headers of W3C Trace Context for the next service; undefined if nothing is traced. */
  readonly headers: TraceHeaders | undefined;
  event(name: string, attributes: Attributes): void;
  /** Runs a part of the work as a child span. */
  during<T>(name: string, work: (span: Span) => Promise<T>): Promise<T>;
}

/** A span with an explicit end. */
export interface OpenSpan {
  readonly headers: TraceHeaders;
  event(name: string): void;
  /** Adds attributes that are known only now. */
  setAttributes(attributes: Attributes): void;
  /** Starts a child span. */
  part(name: string): OpenSpan;
  /** Only the first call counts. `failure`: the error. */
  end(failure?: string): void;
}

export interface SpanStart {
  readonly name: string;
  /** The parent; undefined: the span starts a trace. */
  readonly parent: Context | undefined;
  readonly attributes: Attributes;
}

/** The interface to tracing. Its import costs nothing: the packages are loaded when tracing starts. */
export interface Tracer {
  /** False: nothing is recorded, and data that only tracing needs should not be computed. */
  readonly enabled: boolean;
  /** The parent in headers of W3C Trace Context; undefined when they are malformed. */
  parentIn(headers: object): Context | undefined;
  /** Runs the work in a span that ends with it and records a failure. */
  during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
  /** Starts a span for incoming work that ends elsewhere; undefined if nothing is traced. */
  open(start: SpanStart): OpenSpan | undefined;
}

const untraced: Span = { headers: undefined, event() {}, during: (_, work) => work(untraced) };

/** Runs the work without tracing. */
export const noTracer: Tracer = {
  enabled: false,
  parentIn: () => undefined,
  during: (_, work) => work(untraced),
  open: () => undefined,
};
