/** What decides which headers of a request a sandbox gets. */
export interface ForwardRules {
  /** The host named the sandbox: the request keeps what belongs to that origin. */
  readonly byHost: boolean;
  readonly consumesAuthorization: boolean;
  readonly upgrade: boolean;
  readonly chunked: boolean;
  /** The sandbox continues our trace, which continues the client's. */
  readonly traced: boolean;
}

type Rule = (rules: ForwardRules) => boolean;
const never: Rule = () => false;

/** Belong to one connection, not to the message (RFC 9110, 7.6.1); the framing is decided anew on each side. */
const hopByHop = [
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
];

/** Said to us, and no business of the sandbox. The id and the namespace go through: programs read them. */
const ours = ["x-sandbox-pod-ip", "x-sandbox-timeout", "x-sandbox-uid"];

/** Written by us alone; what a client claims about where it came from is worth nothing. */
const forwarded = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"];

/** The headers of a request, in lower case, that do not always go through (spec router 8). */
const requestRules: ReadonlyMap<string, Rule> = new Map([
  ...[...hopByHop, ...ours, ...forwarded].map((name): [string, Rule] => [name, never]),
  ["host", never], // written first
  ["expect", never], // answered by us, once there is a connection
  ["trailer", ({ chunked }) => chunked],
  ["traceparent", ({ traced }) => !traced],
  ["tracestate", ({ traced }) => !traced],
  ["authorization", ({ byHost, consumesAuthorization }) => byHost && !consumesAuthorization],
  // Backends compare it with Host, which is theirs only where the host named the sandbox.
  ["origin", ({ byHost, upgrade }) => byHost || !upgrade],
]);

const responseDrops: ReadonlySet<string> = new Set(hopByHop);

/** All others always go through. */
export const requestHeadersWithRules: readonly string[] = [...requestRules.keys()];
export const responseHeadersWithRules: readonly string[] = [...responseDrops, "trailer"];

/** A `Connection` header may not strip what says where a message goes or where it ends. */
const notForConnectionToStrip = new Set(["host", "content-length"]);

/** Whether a sandbox gets this header of a client; `name` in lower case. */
export function keepsRequestHeader(name: string, rules: ForwardRules): boolean {
  return requestRules.get(name)?.(rules) ?? true;
}

/** Whether a client gets this header of a sandbox; `name` in lower case. */
export function keepsResponseHeader(name: string, keepsTrailer: boolean): boolean {
  return name === "trailer" ? keepsTrailer : !responseDrops.has(name);
}

/** The headers that a `Connection` header says to strip, in lower case. */
export function strippedByConnection(values: string): ReadonlySet<string> {
  const names = values.split(",").map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => !notForConnectionToStrip.has(name)));
}
