// The controller's calls to an activator: JSON in a POST over mutual TLS, answered with 200 and JSON. Any other
// response is no answer. Times are ages by the sender's monotonic clock, never timestamps: the clocks of two machines
// differ.

/** Paths of the drain listener. */
export const drainPaths = {
  observed: "/drain/v1/observed",
  promise: "/drain/v1/promise",
  activity: "/drain/v1/activity",
  listening: "/drain/v1/listening",
  busy: "/drain/v1/busy",
} as const;

export interface SandboxIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * "This sandbox is Suspended in this generation." Before it answers, the activator stops forwarding to the sandbox until
 * it has seen that generation itself; then it follows that generation. Handling and counting are one synchronous step.
 */
export interface ObservedRequest {
  readonly sandbox: SandboxIdentity;
  readonly podUid: string;
  readonly generation: number;
}

export interface ObservedAnswer {
  /** Requests and counted connections to that Pod, including those that are being dialled or held for the sandbox. */
  readonly inFlight: number;
  /** Milliseconds since the last activity of the sandbox; absent if none is known. */
  readonly idleForMs?: number;
  /** The activator has seen a later generation. */
  readonly superseded?: boolean;
}

/**
 * "That Pod is sealed." The activator never forwards to it again, until it has seen the Pod's deletion. A connection
 * that is being dialled and has not sent a byte returns to the hold, and is not in flight.
 */
export interface PromiseRequest {
  readonly sandbox: SandboxIdentity;
  readonly podUid: string;
}

/** A Pod that was promised never to be used again. */
export type FencedPod = PromiseRequest;

export interface PromiseAnswer {
  /** Requests and counted connections to that Pod, without held ones: they wait for the next Pod. */
  readonly inFlight: number;
  /** Requests that do not count, by `ignoreRequests`; absent: none. */
  readonly ignored?: number;
}

/** Requests the changes since an answer. Without a cursor, or with one of another epoch: everything. */
export interface ActivityRequest {
  readonly epoch?: string;
  readonly cursor?: number;
}

export interface SandboxActivity {
  readonly sandbox: SandboxIdentity;
  /** Requests in flight or held, and open connections that count. */
  readonly inFlight: number;
  /** Milliseconds since the last activity; 0 while a request is in flight. */
  readonly idleForMs: number;
  /** The last wake that this activator wrote, for its event. */
  readonly wake?: WakeReport;
}

export interface WakeReport {
  /** The generation of the sandbox that the wake created. */
  readonly generation: number;
  readonly port: number;
  /** Milliseconds since the wake. */
  readonly agoMs: number;
}

export interface ActivityAnswer {
  /** Identifies one run of the process: after a restart it changes, and former cursors are invalid. */
  readonly epoch: string;
  readonly cursor: number;
  /** Whether `activities` is the complete state, not only the changes. */
  readonly full: boolean;
  readonly activities: readonly SandboxActivity[];
  /** All Pods in view that the activator has fenced; absent: none. The seal of such a Pod may have been lost. */
  readonly fenced?: readonly FencedPod[];
}

/**
 * "These ports stand for sandboxes." The activator answers once it accepts connections on all of them, or after
 * `listeningWaitMs` with those that it accepts. Only the EndpointSlices map ports to sandboxes. The request names the
 * sandbox of each port so that an outdated view confirms nothing.
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
  /**
   * Ports in quarantine: the activator does not open them for a while, because they stood for another sandbox whose
   * slice is gone.
   */
  readonly resting?: readonly number[];
}

/**
 * "Ask the workload in that Pod whether it is busy." The activator takes the request and the address from its own view
 * of the Sandbox and of the Pod, which must have reached this generation. Activators of releases without this call
 * answer 404.
 */
export interface BusyRequest {
  readonly sandbox: SandboxIdentity;
  readonly podUid: string;
  readonly generation: number;
}

/** Reasons why a workload was not probed. */
const notAskedReasons = [
  /**
   * The activator has not seen that generation, or that Pod with an address and controlled by the sandbox, or its view
   * is too old.
   */
  "NotSeen",
  /** The sandbox has no busy probe, or one without a port of the Pod. */
  "NoProbe",
  /** The Pod is fenced. */
  "Fenced",
  /** The activator has reached its limit of concurrent probes. */
  "TooMany",
] as const;

export type NotAskedReason = (typeof notAskedReasons)[number];

export type BusyAnswer =
  /** No status: the workload did not answer in time. */
  { readonly asked: true; readonly status?: number } | { readonly asked: false; readonly reason: NotAskedReason };

/** The maximum time that an activator waits for its own view before it probes a workload. */
export const busyViewWaitMs = 1_000;
/** The time limit of a workload's answer. */
export const busyProbeMs = 5_000;

/** The maximum time that an activator waits for its own view of the slices before it answers. */
export const listeningWaitMs = 2_000;
/** A request for more ports is rejected. */
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

/** Each parser gets the result of `JSON.parse`, and returns undefined for a value outside of the protocol. */
export function parseObservedRequest(value: unknown): ObservedRequest | undefined {
  const { sandbox: identity, podUid, generation } = fieldsOf(value) ?? {};
  const sandbox = parseIdentity(identity);
  return sandbox && isText(podUid) && isCount(generation) ? { sandbox, podUid, generation } : undefined;
}

export const parseBusyRequest: (value: unknown) => BusyRequest | undefined = parseObservedRequest;

export function parseBusyAnswer(value: unknown): BusyAnswer | undefined {
  const { asked, status, reason: reported } = fieldsOf(value) ?? {};
  if (asked === true && (status === undefined || isCount(status))) return { asked, ...(isCount(status) && { status }) };
  const reason = notAskedReasons.find((known) => known === reported);
  return asked === false && reason ? { asked, reason } : undefined;
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
  const { epoch, cursor, full, activities: listed, fenced: reported = [] } = fieldsOf(value) ?? {};
  if (!isText(epoch) || !isCount(cursor) || typeof full !== "boolean" || !Array.isArray(listed)) return undefined;
  const fenced = Array.isArray(reported) ? reported.map(parsePromiseRequest).filter((pod) => pod !== undefined) : [];
  const activities = listed.map(parseActivity).filter((activity) => activity !== undefined);
  // An unparsable entry may be the busy one, so the whole answer is rejected.
  if (activities.length !== listed.length) return undefined;
  return { epoch, cursor, full, activities, ...(fenced.length > 0 && { fenced }) };
}

export function parseListeningAnswer(value: unknown): ListeningAnswer | undefined {
  const { resting = [] } = fieldsOf(value) ?? {};
  const ports = parseListeningPorts(value)?.ports;
  if (!ports || !Array.isArray(resting) || resting.length > listeningPortsLimit || !resting.every(isCount))
    return undefined;
  return { ports, ...(resting.length > 0 && { resting }) };
}

/** The request and its confirmation have the same form. */
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
  const { sandbox: identity, inFlight, idleForMs, wake: reportedWake } = fieldsOf(value) ?? {};
  const sandbox = parseIdentity(identity);
  if (!sandbox || !isCount(inFlight) || !isAge(idleForMs)) return undefined;
  const { generation, port, agoMs } = fieldsOf(reportedWake) ?? {};
  const wake = isCount(generation) && isCount(port) && isAge(agoMs) ? { generation, port, agoMs } : undefined;
  return { sandbox, inFlight, idleForMs, ...(wake && { wake }) };
}
