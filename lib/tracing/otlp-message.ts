import type { Attributes, FinishedSpan, SpanEvent } from "./tracer.ts";

export interface Origin {
  /** `service.name`. */
  readonly service: string;
  readonly version: string;
}

/**
 * An `ExportTraceServiceRequest` of the OpenTelemetry protocol (opentelemetry-proto 1, `trace/v1/trace.proto` and
 * `collector/trace/v1`), in protocol buffers. Field numbers are theirs.
 */
export function encodeTraces({ service, version }: Origin, spans: readonly FinishedSpan[]): Buffer {
  const resource = message(1, attributes(1, { "service.name": service, "service.version": version }));
  const scope = message(1, [text(1, service), text(2, version)]);
  const scopeSpans = message(2, [scope, ...spans.map((span) => message(2, spanFields(span)))]);
  return message(1, [resource, scopeSpans]);
}

const kindInternal = 1;
const statusError = 2;

function spanFields(span: FinishedSpan): readonly Buffer[] {
  const { traceId, spanId, traceState } = span.context;
  return [
    bytes(1, Buffer.from(traceId, "hex")),
    bytes(2, Buffer.from(spanId, "hex")),
    ...(traceState === undefined ? [] : [text(3, traceState)]),
    ...(span.parentSpanId === undefined ? [] : [bytes(4, Buffer.from(span.parentSpanId, "hex"))]),
    text(5, span.name),
    number(6, kindInternal),
    time(7, span.startMs),
    time(8, span.endMs),
    ...attributes(9, span.attributes),
    ...span.events.map((event) => message(11, eventFields(event))),
    ...(span.failure === undefined ? [] : [message(15, [text(2, span.failure), number(3, statusError)])]),
  ];
}

const eventFields = ({ atMs, name, attributes: about }: SpanEvent): readonly Buffer[] => [
  time(1, atMs),
  text(2, name),
  ...attributes(3, about),
];

const attributes = (field: number, all: Attributes): readonly Buffer[] =>
  Object.entries(all).map(([key, value]) => message(field, [text(1, key), message(2, [text(1, value)])]));

// Wire types of protocol buffers.
const varintType = 0;
const fixed64Type = 1;
const lengthType = 2;

const message = (field: number, fields: readonly Buffer[]): Buffer => bytes(field, Buffer.concat(fields));
const text = (field: number, value: string): Buffer => bytes(field, Buffer.from(value));
const number = (field: number, value: number): Buffer => Buffer.concat([tag(field, varintType), varint(value)]);
const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([tag(field, lengthType), varint(value.length), value]);

/** Nanoseconds since 1970. */
function time(field: number, ms: number): Buffer {
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(BigInt(Math.round(ms * 1_000)) * 1_000n);
  return Buffer.concat([tag(field, fixed64Type), value]);
}

const tag = (field: number, wireType: number): Buffer => varint((field << 3) | wireType);

function varint(value: number): Buffer {
  const digits: number[] = [];
  let left = value;
  for (; left > 0x7f; left = Math.floor(left / 128)) digits.push((left & 0x7f) | 0x80);
  return Buffer.from([...digits, left]);
}
