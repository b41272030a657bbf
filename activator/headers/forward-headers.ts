import { headerFamilies, headerFamily, programsRead } from "./header-family.ts";
import { startedHeader } from "./started-header.ts";

/** The facts that decide which request headers a sandbox gets. */
export interface ForwardRules {
  /** The host named the sandbox: the request keeps the headers of that origin. */
  readonly byHost: boolean;
  readonly consumesAuthorization: boolean;
  readonly upgrade: boolean;
  readonly chunked: boolean;
  /** The sandbox continues our trace, a child of the client's. */
  readonly traced: boolean;
}

type Rule = (rules: ForwardRules) => boolean;
const never: Rule = () => false;

/** Headers of one connection, not of the message (RFC 9110, 7.6.1); each side has a framing of its own. */
const hopByHop = [
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
];

/** Headers for the activator. The id and the namespace are forwarded, because programs read them. */
const ours = ["x-sandbox-pod-ip", "x-sandbox-timeout", "x-sandbox-uid"];

/** Forwarded in this spelling alone: programs trust them, and a client could contradict them in another spelling. */
const trusted = ["x-sandbox-id", "x-sandbox-namespace", "x-sandbox-port", "content-length"];

const always: Rule = () => true;

/** Request headers, in lower case, that are not always forwarded. */
const requestRules: ReadonlyMap<string, Rule> = new Map([
  ...[...hopByHop, ...ours, ...headerFamilies.forwarded.names].map((name): [string, Rule] => [name, never]),
  ...trusted.map((name): [string, Rule] => [name, always]),
  ["host", never], // written first
  ["expect", never], // answered by the activator once it has a connection
  ["trailer", ({ chunked }) => chunked],
  ["traceparent", ({ traced }) => !traced],
  ["tracestate", ({ traced }) => !traced],
  ["authorization", ({ byHost, consumesAuthorization }) => byHost && !consumesAuthorization],
  // Backends compare it with Host, which is the client's only if the host named the sandbox.
  ["origin", ({ byHost, upgrade }) => byHost || !upgrade],
]);

const responseDrops: ReadonlySet<string> = new Set([...hopByHop, startedHeader]);

/** All others are always forwarded, except those that programs read as one of these, or as a continuation of the next. */
export const requestHeadersWithRules: readonly string[] = [...requestRules.keys()];
export const requestBeginningsWithRules: readonly string[] = headerFamilies.forwarded.beginnings;
export const responseHeadersWithRules: readonly string[] = [...responseDrops, "trailer", "set-cookie"];

/** A `Connection` header must not strip headers that decide about routing or framing. */
const notForConnectionToStrip = new Set(["host", "content-length"]);

/**
 * Whether a sandbox gets this request header; `name` in lower case. The activator alone writes the whole family of forwarding
 * headers, because it cannot distinguish a gateway's value from a client's.
 */
export function keepsRequestHeader(name: string, rules: ForwardRules): boolean {
  const rule = requestRules.get(name);
  if (rule) return rule(rules);
  return headerFamily(name) !== "forwarded" && !requestRules.has(programsRead(name));
}

/** Whether a client gets this response header; `name` in lower case. */
export function keepsResponseHeader(name: string, keepsTrailer: boolean): boolean {
  return name === "trailer" ? keepsTrailer : !responseDrops.has(name);
}

/** The headers that a `Connection` header strips, in lower case. */
export function strippedByConnection(values: string): ReadonlySet<string> {
  const names = values.split(",").map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => !notForConnectionToStrip.has(name)));
}
