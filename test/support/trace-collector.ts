import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";

/** A span as a collector received it; ids are hexadecimal. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, string>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, string>> }[];
  /** What went wrong; undefined: nothing. */
  readonly failure: string | undefined;
}

export interface TraceCollector extends AsyncDisposable {
  readonly url: URL;
  readonly spans: readonly ReceivedSpan[];
  /** How many exports it was asked for. */
  readonly calls: number;
}

/** What a collector does with one export: the gRPC status that it answers with; undefined: it never answers. */
export type Answer = (call: number) => number | undefined;

/** A collector that takes traces by OTLP over gRPC, without encryption, and keeps them. */
export async function openTraceCollector(answer: Answer = () => 0): Promise<TraceCollector> {
  const spans: ReceivedSpan[] = [];
  let calls = 0;
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {}).on("close", () => sessions.delete(session));
  });
  server.on("stream", async (stream, headers) => {
    stream.on("error", () => {});
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const status = answer(++calls);
    if (status === undefined) return;
    const known = headers[":path"] === "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    if (status !== 0 || !known) {
      stream.respond(
        { "content-type": "application/grpc", "grpc-status": String(known ? status : 12) },
        { endStream: true },
      );
      return;
    }
    spans.push(...readExport(Buffer.concat(chunks)));
    stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.alloc(5));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    spans,
    get calls() {
      return calls;
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

/** The fields of a message of protocol buffers, by their numbers. */
function readFields(bytes: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const read = { 0: varint, 1: () => take(8).readBigUInt64LE(), 2: () => take(Number(varint())) }[tag & 7];
    if (!read) throw new Error(`wire type ${tag & 7}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), read()]);
  }
  return fields;
}

const all = (fields: Fields, number: number): readonly Fields[] =>
  (fields.get(number) ?? []).map((value) => readFields(value as Buffer));
const bytesOf = (fields: Fields, number: number): Buffer => (fields.get(number)?.[0] as Buffer) ?? Buffer.alloc(0);
const textOf = (fields: Fields, number: number): string => bytesOf(fields, number).toString();
const attributesOf = (fields: Fields, number: number): Readonly<Record<string, string>> =>
  Object.fromEntries(all(fields, number).map((pair) => [textOf(pair, 1), textOf(readFields(bytesOf(pair, 2)), 1)]));

function readExport(framed: Buffer): readonly ReceivedSpan[] {
  const message = framed.subarray(5, 5 + framed.readUInt32BE(1));
  return all(readFields(message), 1).flatMap((resourceSpans) => {
    const service = attributesOf(readFields(bytesOf(resourceSpans, 1)), 1)["service.name"] ?? "";
    return all(resourceSpans, 2).flatMap((scopeSpans) => all(scopeSpans, 2).map((span) => readSpan(span, service)));
  });
}

function readSpan(span: Fields, service: string): ReceivedSpan {
  const status = all(span, 15)[0];
  return {
    service,
    traceId: bytesOf(span, 1).toString("hex"),
    spanId: bytesOf(span, 2).toString("hex"),
    parentSpanId: bytesOf(span, 4).toString("hex"),
    name: textOf(span, 5),
    startNs: span.get(7)?.[0] as bigint,
    endNs: span.get(8)?.[0] as bigint,
    attributes: attributesOf(span, 9),
    events: all(span, 11).map((event) => ({ name: textOf(event, 2), attributes: attributesOf(event, 3) })),
    failure: status && textOf(status, 2),
  };
}
