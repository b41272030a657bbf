import { ownText } from "../../../lib/data/own-text.ts";
import { type CallingPages, callingOrigin } from "../../find/calling-page.ts";
import type { RequestHead as WireHead } from "../../http1/parse/request-head.ts";
import type { GrpcCall, WebForm } from "../../request.ts";
import { readTimeoutMs, type ValuesOf } from "../front/grpc-call.ts";

/** What says whether a request is a call of gRPC-Web. */
export interface WebCallHead {
  readonly method: string;
  readonly host: string;
  readonly valuesOf: ValuesOf;
}

/** Returns undefined for a request that is no call of gRPC-Web. */
export type ReadWebCall = (head: WebCallHead) => GrpcCall | undefined;

const webType = /^application\/grpc-web(-text)?(\+[a-z0-9!#$&^_.+-]+)?[ \t]*(?:;|$)/i;
const typeInAccept = /application\/grpc-web(-text)?/i;

/** Reads the heads of calls of gRPC-Web (gRPC, "gRPC Web"). */
export function webCallReader(pages: CallingPages): ReadWebCall {
  return ({ method, host, valuesOf }) => {
    if (method !== "POST") return undefined;
    const matched = webType.exec(valuesOf("content-type")[0] ?? "");
    if (!matched) return undefined;
    const [, text, codec = ""] = matched;
    const sendsText = text !== undefined;
    const origin = callingOrigin(host, valuesOf, pages);
    const web: WebForm = {
      ...{ codec: ownText(codec), sendsText, takesText: takesText(valuesOf("accept"), sendsText) },
      origin: origin === undefined ? undefined : ownText(origin),
    };
    return { timeoutMs: readTimeoutMs(valuesOf("grpc-timeout")), web };
  };
}

/** Without a type of gRPC-Web in `Accept`, the response has the form of the request. */
function takesText(accept: readonly string[], sendsText: boolean): boolean {
  const [named, text] = typeInAccept.exec(accept[0] ?? "") ?? [];
  return named === undefined ? sendsText : text !== undefined;
}

/** Reads calls from heads of HTTP/1.1. */
export function callOfWire(read: ReadWebCall): (head: WireHead) => GrpcCall | undefined {
  return (head) => {
    const { method, host } = head;
    if (method !== "POST") return undefined; // most requests
    return read({ method, host, valuesOf: (name) => [...valuesOf(head, name)] });
  };
}

function* valuesOf(head: WireHead, name: string): Generator<string> {
  for (let index = 0; index < head.fieldCount; index += 1) if (head.isNamed(index, name)) yield head.value(index);
}
