import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import protobuf from "protobufjs";

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
  /** The error message; undefined: no error. */
  readonly failure: string | undefined;
}

export interface TraceCollector extends AsyncDisposable {
  readonly url: URL;
  readonly spans: readonly ReceivedSpan[];
  /** The number of export calls. */
  readonly calls: number;
}

/** The gRPC status with which a collector answers an export; undefined: it never answers. */
export type Answer = (call: number) => number | undefined;

const asItIs = (bytes: Buffer): Buffer => bytes;
const traceService = {
  export: {
    path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    requestStream: false,
    responseStream: false,
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
  },
};

/** A collector that receives traces by OTLP over unencrypted gRPC, and keeps them. */
export async function openTraceCollector(answer: Answer = () => 0): Promise<TraceCollector> {
  const spans: ReceivedSpan[] = [];
  let calls = 0;
  const server = new Server();
  server.addService(traceService, {
    export(call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) {
      const status = answer(++calls);
      if (status === undefined) return;
      if (status !== 0) return respond({ code: status });
      spans.push(...readExport(call.request));
      respond(null, Buffer.alloc(0));
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    spans,
    get calls() {
      return calls;
    },
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
    },
  };
}

// The fields that are read of opentelemetry-proto 1: `collector/trace/v1/trace_service.proto` and `trace/v1/trace.proto`.
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Export { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1;
    bytes span_id = 2;
    bytes parent_span_id = 4;
    string name = 5;
    fixed64 start_time_unix_nano = 7;
    fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9;
    repeated Event events = 11;
    Status status = 15;
  }
  message Event { string name = 2; repeated KeyValue attributes = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { string string_value = 1; }
  message Status { string message = 2; }
`);
const exportType = root.lookupType("Export");

type Pairs = readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Pairs };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

interface Span {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId: Buffer;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Pairs;
  readonly events: readonly { readonly name: string; readonly attributes: Pairs }[];
  readonly status: { readonly message: string } | null;
}

function readExport(bytes: Buffer): readonly ReceivedSpan[] {
  const message = exportType.toObject(exportType.decode(bytes), {
    longs: String,
    defaults: true,
    arrays: true,
  }) as Export;
  return message.resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = recordOf(resource.attributes)["service.name"] ?? "";
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => received(span, service)));
  });
}

const received = (span: Span, service: string): ReceivedSpan => ({
  service,
  traceId: span.traceId.toString("hex"),
  spanId: span.spanId.toString("hex"),
  parentSpanId: span.parentSpanId.toString("hex"),
  name: span.name,
  startNs: BigInt(span.startTimeUnixNano),
  endNs: BigInt(span.endTimeUnixNano),
  attributes: recordOf(span.attributes),
  events: span.events.map(({ name, attributes }) => ({ name, attributes: recordOf(attributes) })),
  failure: span.status?.message || undefined,
});

const recordOf = (pairs: Pairs): Readonly<Record<string, string>> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value.stringValue]));
