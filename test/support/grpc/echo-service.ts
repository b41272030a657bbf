import * as grpc from "@grpc/grpc-js";

/** How messages are written. */
export interface Codec {
  readonly encode: (message: Buffer) => Buffer;
  readonly decode: (bytes: Buffer) => Buffer;
}

/** Messages are bytes: no compiled definition is needed. */
const asIs: Codec = { encode: (message) => message, decode: (bytes) => bytes };

function echoIn({ encode, decode }: Codec) {
  const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
    ...{ path: `/test.Echo/${name}`, requestStream, responseStream, originalName: name },
    ...{ requestSerialize: encode, requestDeserialize: decode },
    ...{ responseSerialize: encode, responseDeserialize: decode },
  });
  return {
    Unary: method("Unary", false, false),
    ServerStream: method("ServerStream", false, true),
    ClientStream: method("ClientStream", true, false),
    Both: method("Both", true, true),
  } satisfies grpc.ServiceDefinition;
}

export const echo = echoIn(asIs);

type Handlers = Readonly<Record<keyof typeof echo, grpc.UntypedHandleCall>>;

/** What a server saw of its calls. */
export interface SeenCalls {
  readonly metadata: grpc.Metadata[];
  readonly deadlines: (number | undefined)[];
  /** Calls that were cancelled before they ended. */
  cancelled: number;
  /** Calls whose client ended its side. */
  ended: number;
}

export interface EchoServer extends AsyncDisposable {
  readonly port: number;
  readonly seen: SeenCalls;
}

/** The last metadata of each call: they say how it ended. */
export function endingMetadata(): grpc.Metadata {
  const trailer = new grpc.Metadata();
  trailer.set("x-end", "done");
  trailer.set("x-end-bin", Buffer.from([0, 255, 7]));
  return trailer;
}

/**
 * A server of gRPC by a library. A message of "fail" ends its call with a status with details, "wait" is not answered, and "big:N"
 * is answered with N bytes.
 */
export async function startEchoServer(port = 0, host = "127.0.0.1", codec = asIs): Promise<EchoServer> {
  const seen: SeenCalls = { metadata: [], deadlines: [], cancelled: 0, ended: 0 };
  const server = new grpc.Server({ "grpc.max_receive_message_length": -1 });
  server.addService(echoIn(codec), { ...handlers(seen) });
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, grpc.ServerCredentials.createInsecure(), (error, at) =>
      error ? reject(error) : resolve(at),
    );
  });
  return {
    port: bound,
    seen,
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
    },
  };
}

function handlers(seen: SeenCalls): Handlers {
  const begin = (call: grpc.ServerUnaryCall<Buffer, Buffer> | grpc.ServerReadableStream<Buffer, Buffer>) => {
    seen.metadata.push(call.metadata);
    const deadline = call.getDeadline();
    seen.deadlines.push(typeof deadline === "number" && Number.isFinite(deadline) ? deadline - Date.now() : undefined);
    call.on("cancelled", () => {
      seen.cancelled += 1;
    });
    const head = new grpc.Metadata();
    head.set("x-begin", "here");
    call.sendMetadata(head);
  };
  return {
    Unary(call: grpc.ServerUnaryCall<Buffer, Buffer>, answer: grpc.sendUnaryData<Buffer>) {
      begin(call);
      seen.ended += 1;
      const text = call.request.toString();
      if (text === "wait") return;
      if (text === "fail") return answer({ code: 9, details: "not so: 100 % é", metadata: endingMetadata() });
      const size = /^big:(\d+)$/.exec(text)?.[1];
      answer(null, size === undefined ? call.request : Buffer.alloc(Number(size), 7), endingMetadata());
    },
    ServerStream(call: grpc.ServerWritableStream<Buffer, Buffer>) {
      seen.metadata.push(call.metadata);
      call.on("cancelled", () => {
        seen.cancelled += 1;
      });
      for (let at = 0; at < 5; at += 1) call.write(Buffer.from(`${call.request.toString()}${at}`));
      if (call.request.toString() !== "stay") call.end(endingMetadata());
    },
    ClientStream(call: grpc.ServerReadableStream<Buffer, Buffer>, answer: grpc.sendUnaryData<Buffer>) {
      begin(call);
      const parts: Buffer[] = [];
      call.on("data", (part: Buffer) => parts.push(part));
      call.on("end", () => {
        seen.ended += 1;
        answer(null, Buffer.concat(parts), endingMetadata());
      });
    },
    Both(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
      begin(call);
      call.on("data", (part: Buffer) => call.write(part));
      call.on("end", () => {
        seen.ended += 1;
        call.end(endingMetadata());
      });
    },
  };
}

/** The outcome of a call, as a client of a library sees it. */
export interface CallOutcome {
  readonly messages: readonly Buffer[];
  readonly code: number;
  readonly details: string;
  readonly begin: grpc.Metadata | undefined;
  readonly end: grpc.Metadata;
}

export interface CallOptions {
  readonly metadata?: grpc.Metadata;
  readonly deadlineMs?: number;
  /** The host that names the sandbox. */
  readonly host?: string;
}

/** A client of gRPC by a library, on one connection. */
export class EchoClient implements Disposable {
  readonly #client: grpc.Client;

  constructor(target: string, authority?: string) {
    this.#client = new grpc.Client(target, grpc.credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      "grpc.enable_retries": 0,
      "grpc.use_local_subchannel_pool": 1,
      ...(authority !== undefined && { "grpc.default_authority": authority }),
    });
  }

  /** A call of any shape. The caller writes and ends, unless `messages` are given. */
  open(name: keyof typeof echo, options: CallOptions = {}): grpc.ClientDuplexStream<Buffer, Buffer> {
    const { metadata = new grpc.Metadata(), deadlineMs } = options;
    const { path, requestSerialize, responseDeserialize } = echo[name];
    return this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, {
      ...(deadlineMs !== undefined && { deadline: Date.now() + deadlineMs }),
    });
  }

  async call(name: keyof typeof echo, messages: readonly string[], options: CallOptions = {}): Promise<CallOutcome> {
    const call = this.open(name, options);
    const outcome = outcomeOf(call);
    for (const message of messages) call.write(Buffer.from(message));
    call.end();
    return outcome;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

export function outcomeOf(call: grpc.ClientDuplexStream<Buffer, Buffer>): Promise<CallOutcome> {
  const messages: Buffer[] = [];
  let begin: grpc.Metadata | undefined;
  call.on("data", (message: Buffer) => messages.push(message));
  call.on("metadata", (metadata: grpc.Metadata) => {
    begin = metadata;
  });
  call.on("error", () => {}); // the status follows
  return new Promise((resolve) => {
    call.on("status", ({ code, details, metadata }: grpc.StatusObject) =>
      resolve({ messages, code, details, begin, end: metadata }),
    );
  });
}
