import { type KubeObject, keyOf, type Stored } from "../api/kinds/meta.ts";
import { createdByLabel, normalizedCreator, traceContextAnnotation } from "../api/rules/keys.ts";
import type { Logger } from "../lib/log/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import { OncePerMinute } from "../lib/time/once-per-minute.ts";
import { type Attributes, noTracer, type Span, type SpanStart, type Tracer } from "../lib/tracing/tracer.ts";

/** Traces the reconciles of objects, as continuations of the traces in their annotations. */
export class Traces {
  readonly #tracer: Tracer;
  readonly #log: Logger;
  /** An object is reconciled again and again. */
  readonly #mayLog: OncePerMinute;

  constructor(tracer: Tracer, log: Logger, clock: Clock) {
    this.#tracer = tracer;
    this.#log = log;
    this.#mayLog = new OncePerMinute(clock);
  }

  /** Does work on an object as a span. `attributesOf` is asked only where there are traces. */
  during<T extends KubeObject, R>(
    name: string,
    object: Stored<T>,
    attributesOf: (object: Stored<T>) => Attributes,
    work: (span: Span) => Promise<R>,
  ): Promise<R> {
    if (!this.#tracer.enabled) return noTracer.during({ name, parent: undefined, attributes: {} }, work);
    const start = { name, parent: this.#parentOf(object), attributes: attributesOf(object) };
    return this.#tracer.during(start, work);
  }

  #parentOf(object: Stored<KubeObject>): SpanStart["parent"] {
    const text = object.metadata.annotations?.[traceContextAnnotation];
    if (!text) return undefined;
    const headers = parseHeaders(text);
    const parent = headers && this.#tracer.parentIn(headers);
    if (!parent) this.#logMalformed(object);
    return parent;
  }

  #logMalformed(object: Stored<KubeObject>): void {
    const { kind } = object;
    const key = keyOf(object);
    if (this.#mayLog.asks(`${kind} ${key}`)) this.#log.warn({ kind, key }, "ignored a malformed trace context");
  }
}

function parseHeaders(text: string): object | undefined {
  try {
    const headers: unknown = JSON.parse(text);
    return typeof headers === "object" && headers !== null ? headers : undefined;
  } catch {
    return undefined;
  }
}

/** The annotation with which other programs continue the trace; undefined if the object has one, or there is no trace. */
export function contextToWrite({ metadata }: KubeObject, { headers }: Span): string | undefined {
  if (!headers || metadata.annotations?.[traceContextAnnotation]) return undefined;
  return JSON.stringify(headers);
}

/** The longest trace context that is copied, in characters: W3C has 8 KiB of baggage, and less than 1 KiB of the rest. */
const copiedContextMax = 10_240;

/** The trace context of a claim, for its Sandbox. Any user may write it; a longer one would fill the Sandbox's annotations. */
export function contextToCopy({ metadata }: KubeObject): string | undefined {
  const context = metadata.annotations?.[traceContextAnnotation];
  return context && context.length <= copiedContextMax ? context : undefined;
}

/** Who made an object, from a label, as a metric label: any user may write any value there. */
export function creatorAttribute({ metadata }: KubeObject): Attributes {
  const creator = metadata.labels?.[createdByLabel];
  return creator === undefined ? {} : { [createdByLabel]: normalizedCreator(creator) };
}
