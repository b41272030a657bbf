import type { TraceHeaders } from "../../../lib/tracing/tracer.ts";
import {
  type BasePath,
  type ClientView,
  changingFields,
  credentialFields,
  fieldFor,
  type HiddenCredentials,
  withoutCredential,
} from "../../headers/base-path.ts";
import {
  type ForwardRules,
  keepsRequestHeader,
  keepsResponseHeader,
  requestBeginningsWithRules,
  requestHeadersWithRules,
  responseHeadersWithRules,
  strippedByConnection,
} from "../../headers/forward-headers.ts";
import { authorityOf } from "../../pod-connections/place.ts";
import { sentTarget } from "../../request.ts";
import type { Target } from "../../sandbox/resolve.ts";
import type { ClientRequest } from "../front/client-request.ts";
import { FieldNames } from "../parse/field-names.ts";
import type { FieldSection } from "../parse/field-section.ts";
import { connectionOption, type MessageFacts } from "../parse/message-facts.ts";
import type { ResponseHead } from "../parse/response-head.ts";
import { passableProtocols } from "../parse/upgrade-offer.ts";

export interface RequestRules extends Pick<ForwardRules, "byHost" | "consumesAuthorization"> {
  readonly trace: TraceHeaders | undefined;
  /** Absent: no path named the sandbox. */
  readonly base?: BasePath | undefined;
  /** Absent: the request has none besides `Authorization`. */
  readonly hidden?: HiddenCredentials | undefined;
}

const requestNames = new FieldNames(requestHeadersWithRules, requestBeginningsWithRules);
const requestNamesBelow = new FieldNames([...requestHeadersWithRules, ...credentialFields], requestBeginningsWithRules);
const responseNames = new FieldNames([...responseHeadersWithRules, ...changingFields]);

/** The request head for the sandbox: the client's lines, with headers removed and added as `forward-headers.ts` says. */
export function requestText(
  request: ClientRequest,
  { byHost, consumesAuthorization, trace, base, hidden }: RequestRules,
  pod: Pick<Target, "ip" | "port">,
): string {
  const { wire, method, host, upgrade, clientIp, scheme } = request;
  const chunked = wire.facts.isChunked;
  const rules: ForwardRules = { byHost, consumesAuthorization, upgrade, chunked, traced: trace !== undefined };
  const keeps = (name: string) => keepsRequestHeader(name, rules);
  const change = credentialChange(hidden);
  const names = change ? requestNamesBelow : requestNames;
  const lines = keptLines(wire, wire.facts, { names, keeps, change });
  return (
    `${method} ${sentTarget(request)} HTTP/1.1\r\nHost: ${byHost ? host : authorityOf(pod)}\r\n${lines}` +
    `X-Forwarded-For: ${clientIp}\r\nX-Forwarded-Host: ${host}\r\nX-Forwarded-Proto: ${scheme}\r\n` +
    `${base ? `X-Forwarded-Prefix: ${base.text.slice(0, -1)}\r\n` : ""}` +
    `${trace === undefined ? "" : traceLines(trace)}${wire.facts.hasTe ? teOf(wire) : ""}${framingOf(request)}${upgrade ? `Connection: Upgrade\r\nUpgrade: ${request.upgradeOffer}\r\n` : "Connection: keep-alive\r\n"}\r\n`
  );
}

/** Programs in sandboxes must not see credentials for the activator. */
function credentialChange(hidden: HiddenCredentials | undefined): LineRules["change"] {
  if (hidden?.sessionCookie === undefined) return undefined;
  return (name, value) => withoutCredential(hidden, name, value);
}

/** The framing of a response for the client. */
export type ResponseFraming =
  /** Unchanged. */
  | "same"
  /** The sandbox sends no length; the client gets chunks, so that it can distinguish the end from a cut. */
  | "chunked"
  /** The data alone, up to the end of the connection: HTTP/1.0 has no chunks. */
  | "data";

/** The response head for the client: the sandbox's lines without those of its connection, and lines of our own. */
export function responseText(
  head: ResponseHead,
  framing: ResponseFraming,
  ownLines: string,
  view?: ClientView,
): string {
  const chunked = framing === "chunked" || (framing === "same" && head.facts.isChunked);
  const keepsTrailer = framing === "same" && head.framing === "chunked";
  const keeps = (name: string) => keepsResponseHeader(name, keepsTrailer);
  const lines = keptLines(head, head.facts, { names: responseNames, keeps, change: changeFor(view) });
  const upgrade = head.status === 426 ? requiredUpgrade(head) : "";
  return `HTTP/1.1 ${head.status} ${head.reason}\r\n${lines}${chunked ? "Transfer-Encoding: chunked\r\n" : ""}${upgrade}${ownLines}\r\n`;
}

/** The head of a 101, with lines of our own. */
export function switchText(head: ResponseHead, ownLines: string, view?: ClientView): string {
  const keeps = (name: string) => keepsResponseHeader(name, false);
  const lines = keptLines(head, head.facts, { names: responseNames, keeps, change: changeFor(view) });
  const protocol = head.valueOf("upgrade");
  const upgrade = protocol === undefined ? "" : `Upgrade: ${protocol}\r\n`;
  return `HTTP/1.1 101 ${head.reason}\r\nConnection: Upgrade\r\n${upgrade}${lines}${ownLines}\r\n`;
}

const changeFor = (view: ClientView | undefined): LineRules["change"] =>
  view && ((name, value) => fieldFor(view, name, value));

interface LineRules {
  /** The names that the two functions decide about; all other fields are kept. */
  readonly names: FieldNames;
  readonly keeps: (name: string) => boolean;
  /** The value of a field; undefined: it is dropped. Absent: all stay as they are. */
  readonly change: ((name: string, value: string) => string | undefined) | undefined;
}

/** The lines of the kept fields, in order and byte for byte; adjacent lines are copied at once. */
function keptLines(section: FieldSection, facts: MessageFacts, { names, keeps, change }: LineRules): string {
  const stripped = facts.has(connectionOption.other)
    ? strippedByConnection(section.valueOf("connection") ?? "")
    : undefined;
  let text = "";
  let from = -1;
  for (let index = 0; index < section.fieldCount; index += 1) {
    const name = names.find(section, index);
    const isKept = (name === undefined || keeps(name)) && !stripped?.has(section.name(index).toLowerCase());
    const value = change && name !== undefined && isKept ? section.value(index) : undefined;
    const changed = value === undefined || name === undefined ? undefined : change?.(name, value);
    if (isKept && changed === value) {
      if (from < 0) from = section.lineStart(index);
      continue;
    }
    if (from >= 0) text += section.text(from, section.lineStart(index));
    from = -1;
    if (changed !== undefined) text += `${section.name(index)}: ${changed}\r\n`;
  }
  return from < 0 ? text : text + section.text(from, section.end - 2);
}

const traceLines = (trace: TraceHeaders) =>
  Object.entries(trace).reduce((lines, [name, value]) => `${lines}${name}: ${value}\r\n`, "");

const teOf = (wire: FieldSection) => (/\btrailers\b/i.test(wire.valueOf("te") ?? "") ? "TE: trailers\r\n" : "");

const usuallyBodiless: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

/** Removes chunks from a request without a body, and adds none to a body of known length. */
function framingOf({ wire: { facts }, method }: ClientRequest): string {
  if (facts.isChunked) return "Transfer-Encoding: chunked\r\n";
  return facts.contentLength >= 0 || usuallyBodiless.has(method) ? "" : "Content-Length: 0\r\n";
}

/** A 426 must name the required protocol (RFC 9110, 15.5.22). Offers in other responses do not concern the client. */
function requiredUpgrade(head: ResponseHead): string {
  const protocols = passableProtocols(head.valueOf("upgrade") ?? "");
  return protocols === "" ? "" : `Connection: Upgrade\r\nUpgrade: ${protocols}\r\n`;
}

/** The trailers of a response for the client, without those that only the activator writes, and the empty line that ends them. */
export function responseTrailers(section: FieldSection): string {
  let text = "";
  for (let index = 0; index < section.fieldCount; index += 1) {
    const isLast = index + 1 === section.fieldCount;
    const end = isLast ? section.end - 2 : section.lineStart(index + 1);
    if (keepsResponseHeader(section.name(index).toLowerCase(), true))
      text += section.text(section.lineStart(index), end);
  }
  return `${text}\r\n`;
}
