import type { TraceHeaders } from "../../../lib/tracing/tracer.ts";
import {
  type ForwardRules,
  keepsRequestHeader,
  keepsResponseHeader,
  requestHeadersWithRules,
  responseHeadersWithRules,
  strippedByConnection,
} from "../../carry/forward-headers.ts";
import { FieldNames } from "../field-names.ts";
import type { FieldSection } from "../field-section.ts";
import type { ClientRequest } from "../front/client-request.ts";
import { connectionOption, type MessageFacts } from "../message-facts.ts";
import type { ResponseHead } from "../response-head.ts";

export interface RequestRules extends Pick<ForwardRules, "byHost" | "consumesAuthorization"> {
  /** `ip:port` of the Pod. */
  readonly authority: string;
  readonly trace: TraceHeaders | undefined;
}

const requestNames = new FieldNames(requestHeadersWithRules);
const responseNames = new FieldNames(responseHeadersWithRules);

/** The head that a sandbox gets: the client's lines as they came, less and plus what spec router 8 says. */
export function requestText(
  request: ClientRequest,
  { byHost, consumesAuthorization, authority, trace }: RequestRules,
): string {
  const { wire, method, target, host, upgrade, peer, scheme } = request;
  const chunked = wire.facts.isChunked;
  const rules: ForwardRules = { byHost, consumesAuthorization, upgrade, chunked, traced: trace !== undefined };
  const lines = keptLines(wire, wire.facts, requestNames, (name) => keepsRequestHeader(name, rules));
  return (
    `${method} ${target} HTTP/1.1\r\nHost: ${byHost ? host : authority}\r\n${lines}` +
    `X-Forwarded-For: ${peer}\r\nX-Forwarded-Host: ${host}\r\nX-Forwarded-Proto: ${scheme}\r\n` +
    `${trace === undefined ? "" : traceLines(trace)}${wire.facts.hasTe ? teOf(wire) : ""}${framingOf(request)}${upgrade ? upgradeOf(wire) : "Connection: keep-alive\r\n"}\r\n`
  );
}

/** How a response is framed for the client. */
export type ResponseFraming =
  /** As it came. */
  | "same"
  /** Without a length behind us, in chunks before us, so that its end can be told from a cut. */
  | "chunked"
  /** Its data alone, up to the end of the connection: HTTP/1.0 knows no chunks. */
  | "data";

/** The head that a client gets: the sandbox's lines as they came, less what belongs to the connection behind us. */
export function responseText(head: ResponseHead, framing: ResponseFraming, connectionLine: string): string {
  const chunked = framing === "chunked" || (framing === "same" && head.facts.isChunked);
  const keepsTrailer = framing === "same" && head.framing === "chunked";
  const lines = keptLines(head, head.facts, responseNames, (name) => keepsResponseHeader(name, keepsTrailer));
  return `HTTP/1.1 ${head.status} ${head.reason}\r\n${lines}${chunked ? "Transfer-Encoding: chunked\r\n" : ""}${connectionLine}\r\n`;
}

/** The head of a 101. */
export function switchText(head: ResponseHead): string {
  const lines = keptLines(head, head.facts, responseNames, (name) => keepsResponseHeader(name, false));
  const protocol = head.valueOf("upgrade");
  const upgrade = protocol === undefined ? "" : `Upgrade: ${protocol}\r\n`;
  return `HTTP/1.1 101 ${head.reason}\r\nConnection: Upgrade\r\n${upgrade}${lines}\r\n`;
}

/** The lines of the fields that are kept, in order and byte for byte; runs of them are taken at once. */
function keptLines(
  section: FieldSection,
  facts: MessageFacts,
  names: FieldNames,
  keeps: (name: string) => boolean,
): string {
  const stripped = facts.has(connectionOption.other)
    ? strippedByConnection(section.valueOf("connection") ?? "")
    : undefined;
  let text = "";
  let from = -1;
  for (let index = 0; index < section.fieldCount; index += 1) {
    const name = names.find(section, index);
    if ((name === undefined || keeps(name)) && !stripped?.has(section.name(index).toLowerCase())) {
      if (from < 0) from = section.lineStart(index);
    } else if (from >= 0) {
      text += section.text(from, section.lineStart(index));
      from = -1;
    }
  }
  return from < 0 ? text : text + section.text(from, section.end - 2);
}

const traceLines = (trace: TraceHeaders) =>
  Object.entries(trace).reduce((lines, [name, value]) => `${lines}${name}: ${value}\r\n`, "");

const teOf = (wire: FieldSection) => (/\btrailers\b/i.test(wire.valueOf("te") ?? "") ? "TE: trailers\r\n" : "");

const usuallyBodiless: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

/** No chunks on a request without a body, and none made of one whose length is known. */
function framingOf({ wire: { facts }, method }: ClientRequest): string {
  if (facts.isChunked) return "Transfer-Encoding: chunked\r\n";
  return facts.contentLength >= 0 || usuallyBodiless.has(method) ? "" : "Content-Length: 0\r\n";
}

function upgradeOf(wire: FieldSection): string {
  const settings = wire.valueOf("http2-settings");
  const protocol = `Upgrade: ${wire.valueOf("upgrade") ?? ""}\r\n`;
  if (settings === undefined) return `Connection: Upgrade\r\n${protocol}`;
  return `Connection: Upgrade, HTTP2-Settings\r\n${protocol}HTTP2-Settings: ${settings}\r\n`;
}
