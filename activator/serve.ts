import { reportUnexpected, runGuarded } from "../lib/guard/guard.ts";
import type { Activity } from "./activity/activity.ts";
import { type KeepOpenDeps, keepOpen } from "./activity/keep-open.ts";
import type { Use } from "./activity/use.ts";
import type { Allowed, Authorizer } from "./authorize/authorizer.ts";
import { enter } from "./authorize/browser-entry.ts";
import { type Credential, credentialOf } from "./authorize/credential.ts";
import { refuseForeignOrigin } from "./authorize/own-origin.ts";
import { answerToWorkerScript } from "./authorize/worker-script.ts";
import type { PathRouting } from "./config/path-routing-config.ts";
import { reach } from "./connect/connect.ts";
import type { ConnectDeps } from "./connect/connect-request.ts";
import type { Upstream } from "./connect/connector.ts";
import { holdTimeoutMs } from "./connect/hold-timeout.ts";
import { howStarted, podUidNow } from "./connect/how-started.ts";
import { toResponse } from "./failures/error-response.ts";
import { ActivatorError, toActivatorError } from "./failures/errors-for-clients.ts";
import type { NewSandboxes } from "./find/await-new-sandbox.ts";
import { type FindOptions, find, hostNamesSandbox, type Lookup, type Routed } from "./find/find.ts";
import type { Domains } from "./find/host-name.ts";
import { isBelowPrefix } from "./find/path-route.ts";
import { sandboxTarget } from "./find/sandbox-target.ts";
import { basePathOf, hiddenCredentials } from "./headers/base-path.ts";
import type { FirstView } from "./hold/await-first-view.ts";
import { answerToPreflight, refuseMarkedRequest } from "./http2/grpc-web/preflight.ts";
import type { Observer } from "./observe/observer.ts";
import type { RequestRecord } from "./observe/request-record.ts";
import { authorityOf } from "./pod-connections/place.ts";
import type { ProxyRequest, ProxyRequestOptions } from "./proxy-interface.ts";
import { ClientGone, headerValue, type Incoming, pathOf, type RequestHead, type Synthetic } from "./request.ts";

export interface ServeDeps<I extends Incoming> extends ConnectDeps, KeepOpenDeps {
  readonly cluster: ConnectDeps["cluster"];
  readonly find: FindOptions & { readonly pathRouting?: PathRouting | undefined };
  readonly lookup: Lookup;
  readonly firstView: FirstView;
  readonly newSandboxes: NewSandboxes;
  readonly authorizer: Authorizer;
  readonly activity: Activity;
  readonly observer: Observer;
  readonly proxy: ProxyRequest<I>;
  /** 0: unlimited. The proxy counts a body of unknown length. */
  readonly maxRequestBodyBytes: number;
  /** The limit until a response begins, besides the limits of the request. */
  readonly responseHeaderTimeoutMs: number;
}

const healthy: Synthetic = {
  status: 200,
  headers: [["Content-Type", "application/json"]],
  body: '{"status":"ok"}',
};

/**
 * The steps of a request, with the statuses of the errors that end it at each step. Only a step that has to wait returns a
 * promise: each `await` costs every request a turn of the microtask queue. It never rejects: no caller awaits it.
 */
export async function serve<I extends Incoming>(incoming: I, deps: ServeDeps<I>): Promise<void> {
  const { head } = incoming;
  let record: RequestRecord | undefined;
  let use: Use | undefined;
  try {
    record = deps.observer.begin(incoming);
    if (isHealthCheck(head, deps.find)) return incoming.answer(healthy);
    const answer = answerToWorkerScript(head, deps.find) ?? answerToPreflight(head, deps.find); // 403
    if (answer) return incoming.answer(answer);
    refuseMarkedRequest(head, deps.find); // 403
    refuseMethod(head); // 405
    refuseLength(head, deps.maxRequestBodyBytes); // 413
    refuseTimeout(head); // 400
    const credential = readCredential(head, deps.find); // 403
    const authenticated = deps.authorizer.authenticate(head, credential); // 401, 503
    if (authenticated instanceof Promise) await authenticated;
    if (deps.firstView.mayBeMissing(head.host)) await awaitFirstView(incoming, deps, record); // 400, 403, 404, 503
    const found = route(incoming, deps, record); // 400, 403, 404, 503
    const routed = found instanceof Promise ? await found : found;
    const entry = enter(head, routed, credential, { authorizer: deps.authorizer, ...deps.find.pathRouting }); // 400
    if (entry) return incoming.answer(entry);
    use = beginUse(incoming, deps);
    const reached = reach({ to: routed, client: incoming, deps, observer: record, use }); // 404, 409, 410, 424, 502, 503
    const before = reached instanceof Promise ? podUidNow(routed, deps.cluster) : undefined;
    const upstream = reached instanceof Promise ? await reached : reached;
    record.reached(upstream.target);
    await deps.proxy(incoming, upstream, proxyOptions(incoming, { routed, upstream, before, use, record }, deps)); // 413, 502, 504
    use.released();
  } catch (error) {
    use?.released();
    const ending = () => refuse(incoming, error, record, deps.clock.ticksMs());
    runGuarded("http-front", ending, () => incoming.abort());
  }
}

/**
 * Waits until the sandbox can be resolved. A client that may not reach the name as it is spelt takes no slot, and gets the same
 * error at once whether or not the name exists.
 */
async function awaitFirstView<I extends Incoming>(
  incoming: I,
  { find: options, lookup, authorizer, firstView, cluster }: ServeDeps<I>,
  record: RequestRecord,
): Promise<void> {
  const spelt = record.routed(find(incoming.head, options, lookup));
  try {
    await authorizer.authorize(incoming.head, spelt, cluster);
  } catch (error) {
    // A name in a host may be a claim's, whose sandbox the client may reach: that is not known yet.
    const isForbidden = error instanceof ActivatorError && error.code === "Forbidden";
    throw isForbidden && spelt.byHost ? new ActivatorError("ClusterUnseen") : error;
  }
  await firstView.known(incoming, spelt, record);
}

/** The credential of the request. A cookie is one only for pages of this origin. */
function readCredential(head: RequestHead, options: ServeDeps<Incoming>["find"]): Credential | undefined {
  const credential = credentialOf(head, options);
  const session = options.pathRouting?.session;
  if (session && credential?.from === "cookie") refuseForeignOrigin(head, session);
  return credential;
}

/** Finds the sandbox that the client names and may reach. A sandbox that was just created is awaited for a moment. */
function route<I extends Incoming>(incoming: I, deps: ServeDeps<I>, record: RequestRecord): Routed | Promise<Routed> {
  const found = findAllowed(incoming, deps, record);
  if (!(found instanceof Promise)) return awaitNew(found, incoming, deps, record);
  return found
    .then((routed) => findAllowed(incoming, deps, record, routed)) // what it names may have changed during the authorization
    .then((routed) => awaitNew(routed, incoming, deps, record));
}

function awaitNew<I extends Incoming>(
  routed: Routed,
  incoming: I,
  deps: ServeDeps<I>,
  record: RequestRecord,
): Routed | Promise<Routed> {
  const arrival = deps.newSandboxes.arrival(routed, incoming);
  return arrival ? arrival.then(() => findAllowed(incoming, deps, record, routed)) : routed; // the name may be a claim's
}

/**
 * Finds the sandbox and authorizes the client for it. Until that succeeds, neither a rejection nor its timing shows which
 * sandboxes exist. `before`: a sandbox that the client was authorized for already.
 */
function findAllowed<I extends Incoming>(
  { head }: I,
  deps: ServeDeps<I>,
  record: RequestRecord,
  before?: Routed,
): Routed | Promise<Routed> {
  const found = record.routed(find(head, deps.find, deps.lookup));
  if (found.path || isBelowPrefix(head, deps.find)) {
    const hidden = deps.find.pathRouting?.session?.queryParameter;
    head.sandboxTarget = sandboxTarget(head.target, { length: found.path?.length ?? 0, hidden });
  }
  const isSame = before?.name === found.name && before.namespace === found.namespace;
  if (isSame) return unlessRefused({ routed: { ...found, uid: before.uid ?? found.uid } });
  const allowed = record.decided(() => deps.authorizer.authorize(head, found, deps.cluster));
  return allowed instanceof Promise ? allowed.then(unlessRefused) : unlessRefused(allowed);
}

function unlessRefused({ routed }: Allowed): Routed {
  if (routed.refusal) throw routed.refusal;
  return routed;
}

/** The use of the sandbox lasts until the request has ended, unless the sandbox is released before. */
function beginUse<I extends Incoming>(incoming: I, { activity }: ServeDeps<I>): Use {
  if (incoming.left) throw new ClientGone("the client left before its request was admitted");
  const use = activity.useBy(incoming.head);
  incoming.onEnded(() => use.end());
  return use;
}

interface Reached {
  readonly routed: Routed;
  readonly upstream: Upstream;
  /** The UID of the Pod when the request began to wait. */
  readonly before: string | undefined;
  readonly use: Use;
  readonly record: RequestRecord;
}

function proxyOptions<I extends Incoming>(
  incoming: I,
  { routed, upstream, before, use, record }: Reached,
  deps: ServeDeps<I>,
): ProxyRequestOptions {
  const { name: subject, byHost, path, timeoutMs = Number.POSITIVE_INFINITY } = routed;
  const { pathRouting } = deps.find;
  const isBelow = path !== undefined || isBelowPrefix(incoming.head, deps.find);
  const credentials = pathRouting && hiddenCredentials(pathRouting);
  return {
    subject,
    byHost,
    hidden: isBelow ? credentials : undefined,
    shared: byHost || path ? undefined : credentials,
    base: path && pathRouting && basePathOf(path.base, authorityOf(upstream.target), pathRouting),
    consumesAuthorization: deps.authorizer.consumesAuthorization,
    trace: record.trace,
    responseStartMs: Math.min(timeoutMs, deps.options.proxyTimeoutMs, deps.responseHeaderTimeoutMs),
    use,
    started: howStarted(routed, deps.cluster, { before, now: upstream.target.podUid }),
    onFirstByte: () => record.firstByte(),
    onOpen(connection) {
      const onEnded = (listener: () => void) => incoming.onEnded(listener);
      return keepOpen(connection, { to: routed, target: upstream.target, onEnded, use }, deps);
    },
  };
}

// On a host that names a sandbox every path is the sandbox's, even `/healthz`. Probes of the activator come by address or by
// its Service name.
function isHealthCheck(head: RequestHead, domains: Domains): boolean {
  if (pathOf(head.target) !== "/healthz" || (head.method !== "GET" && head.method !== "HEAD")) return false;
  return !hostNamesSandbox(head, domains);
}

/** CONNECT would make the activator an open proxy; TRACE would show a page headers that it may not read. */
function refuseMethod({ method }: RequestHead): void {
  if (method === "CONNECT" || method === "TRACE") throw new ActivatorError("MethodNotAllowed");
}

function refuseLength({ headers }: RequestHead, maxBytes: number): void {
  if (maxBytes > 0 && Number(headerValue(headers, "content-length")) > maxBytes)
    throw new ActivatorError("BodyTooLarge");
}

function refuseTimeout({ grpc }: RequestHead): void {
  if (grpc?.timeoutMs === "malformed")
    throw new ActivatorError("MalformedRequest", { because: "grpc-timeout invalid" });
}

/** `record`: undefined if it could not be made. */
function refuse(incoming: Incoming, error: unknown, record: RequestRecord | undefined, nowMs: number): void {
  if (!record) reportUnexpected("http-front", error);
  if (error instanceof ClientGone || incoming.left) {
    record?.clientLeft();
    return incoming.abort();
  }
  const refusal = toActivatorError(error);
  record?.refused(refusal);
  if (incoming.answerable) incoming.answer(toResponse(refusal, incoming.head, isLate(incoming, nowMs)));
  else incoming.abort(); // an error body after the first bytes of a response would be read as a part of it
}

/** Whether the time is over that the client of a call allowed. A hold ends a little earlier. */
function isLate({ head, seenMs }: Incoming, nowMs: number): boolean {
  const timeoutMs = head.grpc?.timeoutMs;
  return typeof timeoutMs === "number" && nowMs - seenMs >= holdTimeoutMs(timeoutMs);
}
