import { Agent } from "node:http";
import { createRequire } from "node:module";
import type { LookupFunction } from "node:net";
import {
  create,
  createFileRegistry,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  isMessage,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, file_google_protobuf_wrappers, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcWebTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { GrpcWebClientBase, MethodDescriptor, type RpcError } from "grpc-web";
import type { Codec } from "./echo-service.ts";

const encode = (value: string) => toBinary(StringValueSchema, create(StringValueSchema, { value }));
const decode = (bytes: Uint8Array) => fromBinary(StringValueSchema, bytes).value;

/** The messages of libraries for gRPC-Web, which know no bytes alone. */
export const stringValues: Codec = {
  encode: (message) => Buffer.from(encode(message.toString())),
  decode: (bytes) => Buffer.from(decode(bytes)),
};

const text = ".google.protobuf.StringValue";
const file = create(FileDescriptorProtoSchema, {
  ...{ name: "echo.proto", package: "test", syntax: "proto3", dependency: ["google/protobuf/wrappers.proto"] },
  service: [
    {
      name: "Echo",
      method: [
        { name: "Unary", inputType: text, outputType: text },
        { name: "ServerStream", inputType: text, outputType: text, serverStreaming: true },
      ],
    },
  ],
});
const service = createFileRegistry(file, () => file_google_protobuf_wrappers).getService("test.Echo");

function methodOf<K extends DescMethod["methodKind"]>(kind: K): DescMethod & { readonly methodKind: K } {
  const isOfKind = (method: DescMethod): method is DescMethod & { readonly methodKind: K } =>
    method.methodKind === kind;
  const method = service?.methods.find(isOfKind);
  if (!method) throw new Error(`the echo service has no method of the kind ${kind}`);
  return method;
}

const unary: DescMethodUnary = methodOf("unary");
const serverStream: DescMethodServerStreaming = methodOf("server_streaming");

/** How a call ended, as a library for gRPC-Web sees it. */
export interface WebOutcome {
  readonly messages: readonly string[];
  readonly code: number;
  readonly details: string;
  readonly head: Readonly<Record<string, string>>;
  readonly end: Readonly<Record<string, string>>;
}

export interface WebCallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onMessage?: (message: string) => void;
}

export type WebMethod = "Unary" | "ServerStream";

/** A client of gRPC-Web that calls the echo service. */
export interface WebClient extends Disposable {
  call(name: WebMethod, message: string, options?: WebCallOptions): Promise<WebOutcome>;
}

export interface WebServer {
  readonly port: number;
  /** The host that names the sandbox. */
  readonly host?: string | undefined;
  /** What comes before the name of the service. */
  readonly path?: string;
}

/** Finds this machine under every name. */
const toThisMachine: LookupFunction = (_, { all }, found) => {
  if (all) found(null, [{ address: "127.0.0.1", family: 4 }]);
  else found(null, "127.0.0.1", 4);
};

const originOf = ({ host = "127.0.0.1", port }: WebServer) => `http://${host}:${port}`;
const baseOf = (server: WebServer) => `${originOf(server)}${server.path ?? ""}`;

/** The library of Connect, whose calls are in the binary form. */
export function connectOverHttp1(server: WebServer): WebClient {
  const agent = new Agent({ keepAlive: true });
  const baseUrl = baseOf(server);
  const transport = createGrpcWebTransport({
    baseUrl,
    httpVersion: "1.1",
    nodeOptions: { agent, lookup: toThisMachine },
  });
  return connectClient(transport, () => agent.destroy());
}

/** The same library on a connection of HTTP/2. */
export function connectOverHttp2(server: WebServer): WebClient {
  const baseUrl = baseOf(server);
  const sessionManager = new Http2SessionManager(originOf(server), {}, { lookup: toThisMachine });
  const transport = createGrpcWebTransport({ baseUrl, httpVersion: "2", sessionManager });
  return connectClient(transport, () => sessionManager.abort());
}

function connectClient(transport: Transport, close: () => void): WebClient {
  return {
    async call(name, message, { headers = {}, timeoutMs, signal, onMessage } = {}) {
      const messages: string[] = [];
      const heard = (each: unknown) => {
        if (!isMessage(each, StringValueSchema)) throw new Error("the message has another type");
        messages.push(each.value);
        onMessage?.(each.value);
      };
      const input = create(StringValueSchema, { value: message });
      let head = new Headers();
      try {
        if (name === "Unary") {
          const answer = await transport.unary(unary, signal, timeoutMs, headers, input);
          heard(answer.message);
          return ended(messages, answer.header, answer.trailer);
        }
        const answer = await transport.stream(serverStream, signal, timeoutMs, headers, each(input));
        head = answer.header;
        for await (const each of answer.message) heard(each);
        return ended(messages, head, answer.trailer);
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error;
        const { code, rawMessage: details, metadata } = error;
        return { ...ended(messages, head, metadata), code, details };
      }
    },
    [Symbol.dispose]: close,
  };
}

async function* each<T>(value: T): AsyncGenerator<T> {
  yield value;
}

function ended(messages: readonly string[], head: Headers, end: Headers): WebOutcome {
  return { messages, code: 0, details: "", head: Object.fromEntries(head), end: Object.fromEntries(end) };
}

/**
 * gRPC's own library for browsers, whose calls are in base64 here. It sends by XMLHttpRequest, which Node does not have. The package
 * that provides it hands over no part of a response before its end.
 */
export function grpcWebText(server: WebServer): WebClient {
  const { XMLHttpRequest }: { readonly XMLHttpRequest: unknown } = createRequire(import.meta.url)("xhr2");
  Object.assign(globalThis, { XMLHttpRequest });
  const client = new GrpcWebClientBase({ format: "text" });
  return {
    call(name, message, { headers = {}, signal } = {}) {
      const isUnary = name === "Unary";
      const url = `${baseOf(server)}/test.Echo/${name}`;
      const type = isUnary ? "unary" : "server_streaming";
      const method = new MethodDescriptor(url, type, String, String, encode, decode);
      const messages: string[] = [];
      let head: WebOutcome["head"] = {};
      return new Promise((resolve) => {
        const fail = ({ code, message: details, metadata }: RpcError) =>
          resolve({ messages, code, details, head, end: metadata });
        const heard = (each: unknown) => void messages.push(String(each));
        const answered = (error: RpcError | null, answer: unknown) => (error ? fail(error) : heard(answer));
        const sent = { ...headers };
        const stream = isUnary
          ? client.rpcCall(url, message, sent, method, answered)
          : client.serverStreaming(url, message, sent, method);
        signal?.addEventListener("abort", () => stream.cancel());
        stream.on("metadata", (fields) => {
          head = fields;
        });
        if (!isUnary) stream.on("data", heard).on("error", fail);
        stream.on("status", ({ code, details, metadata: end = {} }) =>
          setImmediate(() => resolve({ messages, code, details, head, end })),
        );
      });
    },
    [Symbol.dispose]: () => {},
  };
}
