import { webFields } from "../../failures/grpc-web-response.ts";
import { strippedByConnection } from "../../headers/forward-headers.ts";
import { textBytes, tokenBytes } from "../../http1/parse/byte-classes.ts";
import { type HeaderPair, headerValues, type WebForm } from "../../request.ts";
import { consistsOf } from "../front/field-lines.ts";

/** Fields of a request that describe its form, which changes, or are for a browser's own connection. */
const requestDrops: ReadonlySet<string> = new Set(
  "accept connection content-length content-type expect trailer x-grpc-web".split(" "),
);

/** The fields of a call of gRPC-Web as those of a call of gRPC. */
export function requestFields(headers: readonly HeaderPair[], { codec }: WebForm): readonly HeaderPair[] {
  const stripped = strippedByConnection(headerValues(headers, "connection").join(","));
  const kept = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !requestDrops.has(lower) && !stripped.has(lower);
  });
  return [["content-type", `application/grpc${codec}`], ...kept];
}

/** Fields of a response whose meaning changes with its form. */
const responseDrops: ReadonlySet<string> = new Set("content-encoding content-length content-type trailer".split(" "));

/** What says in a head alone how a call ended. */
const statusFields: ReadonlySet<string> = new Set("grpc-status grpc-message grpc-status-details-bin".split(" "));

/** Whether a sandbox answered in gRPC. */
export function isGrpc(status: number, fields: readonly HeaderPair[]): boolean {
  const [type = ""] = headerValues(fields, "content-type");
  return status === 200 && /^application\/grpc(?:[+;]|$)/i.test(type);
}

/** The fields of a response of gRPC as those of gRPC-Web. The CORS answer of the activator replaces that of the sandbox. */
export function responseFields(fields: readonly HeaderPair[], form: WebForm): readonly HeaderPair[] {
  const replacesAccess = form.origin !== undefined;
  const kept = fields.filter(([name, value]) => {
    if (responseDrops.has(name) || statusFields.has(name) || !isPlain(name, value)) return false;
    return !(replacesAccess && name.startsWith("access-control-"));
  });
  return [...webFields(form), ...kept];
}

/** The fields that end a call, of its trailers or of a head that is all: they are lines of text in gRPC-Web. */
export function lastFields(fields: readonly HeaderPair[], httpStatus: number): readonly HeaderPair[] {
  const kept = fields.filter(([name, value]) => name !== "content-type" && isPlain(name, value));
  if (kept.some(([name]) => name === "grpc-status")) return kept;
  const because = httpStatus === 200 ? "without a status of gRPC" : `with the HTTP status ${httpStatus}`;
  const status: HeaderPair = ["grpc-status", String(ofHttpStatus.get(httpStatus) ?? unknown)];
  return [status, ["grpc-message", `The sandbox answered ${because}.`]];
}

/** How clients of gRPC read an answer that is none of gRPC (gRPC, "HTTP to gRPC Status Code Mapping"). */
const unknown = 2;
const ofHttpStatus: ReadonlyMap<number, number> = new Map([
  [400, 13],
  [401, 16],
  [403, 7],
  [404, 12],
  [429, 14],
  [502, 14],
  [503, 14],
  [504, 14],
]);

/** Whether the field can be written as a line: nghttp2 passes no others on. */
const isPlain = (name: string, value: string) => consistsOf(name, tokenBytes) && consistsOf(value, textBytes);
