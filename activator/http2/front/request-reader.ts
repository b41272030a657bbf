import { randomBytes } from "node:crypto";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { ClientRequest } from "../../http1/front/client-request.ts";
import { errorOfRefusal } from "../../http1/front/refusal-error.ts";
import { type RequestHeadLimits, RequestHeadParser } from "../../http1/parse/request-head-parser.ts";
import { uncounted } from "../../http1/parse/section-reader.ts";
import type { ClientOrigin } from "../../socket/client-origin.ts";
import type { ReadWebCall } from "../grpc-web/read-web-call.ts";
import { fieldValue, fieldValues, malformed, type RawFields } from "./field-lines.ts";
import { readCall, type ValuesOf } from "./grpc-call.ts";
import { requestLines } from "./request-lines.ts";

/** A request of HTTP/2, in the words of HTTP/1.1. */
export interface StreamRequest {
  readonly head: ClientRequest;
  /** The key that the sandbox must prove to have read; undefined: no WebSocket. */
  readonly webSocketKey: string | undefined;
}

export interface StreamOrigin {
  readonly origin: ClientOrigin;
  readonly isEnded: boolean;
}

/** Reads the heads of streams by the rules of HTTP/1.1 and in its limits. */
export class RequestReader {
  readonly #limits: RequestHeadLimits;
  readonly #webCallOf: ReadWebCall | undefined;
  #parser: RequestHeadParser;

  /** `webCallOf`: reads calls of gRPC-Web; absent: such a request is like any other. */
  constructor(limits: RequestHeadLimits, webCallOf?: ReadWebCall) {
    this.#limits = limits;
    this.#webCallOf = webCallOf;
    this.#parser = new RequestHeadParser(limits);
  }

  /** @throws ActivatorError if the request is malformed or too large. */
  read(fields: RawFields, { origin, isEnded }: StreamOrigin): StreamRequest {
    const webSocketKey = randomKeyFor(fields);
    const text = requestLines(fields, { scheme: origin.scheme, isEnded, webSocketKey: webSocketKey ?? "" });
    const bytes = Buffer.from(text, "latin1");
    const parser = this.#parser;
    const step = parser.push(bytes, 0, bytes.length, uncounted);
    if (step !== "complete" || parser.consumedTo !== bytes.length) {
      this.#parser = new RequestHeadParser(this.#limits); // it may have kept something
      throw parser.refusal === undefined ? malformed("its head") : errorOfRefusal(parser.refusal);
    }
    const wire = parser.head.keep();
    if (isEnded && wire.contentLength > 0) throw malformed("a length without a body");
    const valuesOf: ValuesOf = (name) => fieldValues(fields, name);
    const { method, host } = wire;
    const grpc = readCall(method, valuesOf) ?? this.#webCallOf?.({ method, host, valuesOf });
    const head = new ClientRequest(wire, origin, { isHttp2: true, grpc });
    if (head.upgrade !== (webSocketKey !== undefined)) throw malformed("its upgrade");
    if (head.expectsTheImpossible) throw new ActivatorError("ExpectationFailed");
    return { head, webSocketKey };
  }
}

/** RFC 6455, 4.1: 16 random bytes. */
function randomKeyFor(fields: RawFields): string | undefined {
  return fieldValue(fields, ":protocol") !== undefined ? randomBytes(16).toString("base64") : undefined;
}
