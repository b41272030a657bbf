// What the controller asks of an activator: JSON in a POST over mutual TLS, answered with 200 and JSON. Anything else is no
// answer. Times are ages by the sender's monotonic clock, never moments: the clocks of two machines do not agree.

/** Paths of the drain port. */
export const drainPaths = {
  observed: "/drain/v1/observed",
  promise: "/drain/v1/promise",
  activity: "/drain/v1/activity",
  listening: "/drain/v1/listening",
} as const;

export interface SandboxIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * "This sandbox is Suspended in this generation." Before it answers, the activator forwards nothing more to the sandbox
 * until it sees that generation itself, and then does as it says. Handling and counting are one synchronous step.
 */
export interface ObservedRequest {
  readonly sandbox: SandboxIdentity;
  readonly podUid: string;
  readonly generation: number;
}

export interface ObservedAnswer {
  /** Requests and counted connections to that Pod, those that are being dialled or held for the sandbox too. */
  readonly inFlight: number;
  /** Milliseconds since the last activity of the sandbox; absent when it knows of none. */
  readonly idleForMs?: number;
  /** It has seen a later generation. */
  readonly superseded?: boolean;
}

/**
 * "That Pod is sealed." The activator never forwards to it again, until it has seen it gone. What is being dialled and has not
 * sent a byte goes back to the hold, and does not count as in flight.
 */
export interface PromiseRequest {
  readonly sandbox: SandboxIdentity;
  readonly podUid: string;
}

export interface PromiseAnswer {
  /** Requests and counted connections to that Pod, without those that are held: they wait for the next one. */
  readonly inFlight: number;
  /** Those that do not count, by `ignoreRequests`; absent: none. */
  readonly ignored?: number;
}

/** Asks what has changed since an answer; without a cursor, or with one of another epoch, for everything. */
export interface ActivityRequest {
  readonly epoch?: string;
  readonly cursor?: number;
}

export interface SandboxActivity {
  readonly sandbox: SandboxIdentity;
  /** Requests in flight or held, and open connections that count. */
  readonly inFlight: number;
  /** Milliseconds since the last activity; 0 while there is one in flight. */
  readonly idleForMs: number;
  /** The last wake that this activator wrote, for the event that tells of it. */
  readonly wake?: WakeReport;
}

export interface WakeReport {
  /** Of the sandbox, as that wake made it. */
  readonly generation: number;
  readonly port: number;
  /** Milliseconds since the wake. */
  readonly agoMs: number;
}

export interface ActivityAnswer {
  /** Of one run of the process: after a restart it is another one, and cursors of the former mean nothing. */
  readonly epoch: string;
  readonly cursor: number;
  /** Whether `activities` is everything that is known, and not only what has changed. */
  readonly full: boolean;
  readonly activities: readonly SandboxActivity[];
}

/**
 * "These ports stand for sandboxes." The activator answers once it accepts on them all, or after `listeningWaitMs` with those
 * on which it does. It learns whose they are from the EndpointSlices alone; a port is asked for together with its sandbox
 * so that an older view of them confirms nothing.
 */
export interface ListeningRequest {
  readonly ports: readonly ListeningPort[];
}

export interface ListeningPort {
  readonly sandboxUid: string;
  readonly activatorPort: number;
}

export interface ListeningAnswer {
  readonly ports: readonly ListeningPort[];
  /** Ports on which it does not accept for a while, for they stood for another sandbox of which nothing tells any more. */
  readonly resting?: readonly number[];
}

/** The longest an activator waits for its own view of the slices before it answers. */
export const listeningWaitMs = 2_000;
/** A request for more than this is refused. */
export const listeningPortsLimit = 5_000;

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isAge = (value: unknown): value is number => typeof value === "number" && value >= 0 && Number.isFinite(value);

function parseIdentity(value: unknown): SandboxIdentity | undefined {
  const { namespace, name, uid } = fieldsOf(value) ?? {};
  return isText(namespace) && isText(name) && isText(uid) ? { namespace, name, uid } : undefined;
}

/** Each parser takes what `JSON.parse` made of a body, and returns undefined for what the protocol does not know. */
export function parseObservedRequest(value: unknown): ObservedRequest | undefined {
  const { sandbox: identity, podUid, generation } = fieldsOf(value) ?? {};
  const sandbox = parseIdentity(identity);
  return sandbox && isText(podUid) && isCount(generation) ? { sandbox, podUid, generation } : undefined;
}

export function parseObservedAnswer(value: unknown): ObservedAnswer | undefined {
  const { inFlight, idleForMs, superseded } = fieldsOf(value) ?? {};
  if (!isCount(inFlight) || (idleForMs !== undefined && !isAge(idleForMs))) return undefined;
  return { inFlight, ...(idleForMs !== undefined && { idleForMs }), ...(superseded === true && { superseded }) };
}

export function parsePromiseRequest(value: unknown): PromiseRequest | undefined {
  const { sandbox: identity, podUid } = fieldsOf(value) ?? {};
  const sandbox = parseIdentity(identity);
  return sandbox && isText(podUid) ? { sandbox, podUid } : undefined;
}

export function parsePromiseAnswer(value: unknown): PromiseAnswer | undefined {
  const { inFlight, ignored } = fieldsOf(value) ?? {};
  if (!isCount(inFlight) || (ignored !== undefined && !isCount(ignored))) return undefined;
  return { inFlight, ...(ignored !== undefined && { ignored }) };
}

export function parseActivityRequest(value: unknown): ActivityRequest | undefined {
  const fields = fieldsOf(value);
  if (!fields) return undefined;
  const { epoch, cursor } = fields;
  return isText(epoch) && isCount(cursor) ? { epoch, cursor } : {};
}

export function parseActivityAnswer(value: unknown): ActivityAnswer | undefined {
  const { epoch, cursor, full, activities: listed } = fieldsOf(value) ?? {};
  if (!isText(epoch) || !isCount(cursor) || typeof full !== "boolean" || !Array.isArray(listed)) return undefined;
  const activities = listed.map(parseActivity).filter((activity) => activity !== undefined);
  // One that cannot be read may be the one that is busy.
  return activities.length === listed.length ? { epoch, cursor, full, activities } : undefined;
}

export function parseListeningAnswer(value: unknown): ListeningAnswer | undefined {
  const { resting = [] } = fieldsOf(value) ?? {};
  const ports = parseListeningPorts(value)?.ports;
  if (!ports || !Array.isArray(resting) || resting.length > listeningPortsLimit || !resting.every(isCount))
    return undefined;
  return { ports, ...(resting.length > 0 && { resting }) };
}

/** A request, and what is confirmed of it, have the same form. */
export function parseListeningPorts(value: unknown): ListeningRequest | undefined {
  const { ports: listed } = fieldsOf(value) ?? {};
  if (!Array.isArray(listed) || listed.length > listeningPortsLimit) return undefined;
  const ports = listed.map(parseListeningPort).filter((port) => port !== undefined);
  return ports.length === listed.length ? { ports } : undefined;
}

function parseListeningPort(value: unknown): ListeningPort | undefined {
  const { sandboxUid, activatorPort } = fieldsOf(value) ?? {};
  return isText(sandboxUid) && isCount(activatorPort) ? { sandboxUid, activatorPort } : undefined;
}

function parseActivity(value: unknown): SandboxActivity | undefined {
  const { sandbox: identity, inFlight, idleForMs, wake: told } = fieldsOf(value) ?? {};
  const sandbox = parseIdentity(identity);
  if (!sandbox || !isCount(inFlight) || !isAge(idleForMs)) return undefined;
  const { generation, port, agoMs } = fieldsOf(told) ?? {};
  const wake = isCount(generation) && isCount(port) && isAge(agoMs) ? { generation, port, agoMs } : undefined;
  return { sandbox, inFlight, idleForMs, ...(wake && { wake }) };
}
