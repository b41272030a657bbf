import type { Activity } from "./activity/activity.ts";
import { healthy, toResponse } from "./answer.ts";
import type { Authorizer } from "./authorize/authorizer.ts";
import type { Carry } from "./carry/carry.ts";
import { ActivatorError, toActivatorError } from "./errors.ts";
import { type FindOptions, find, hostNamesSandbox, type Lookup } from "./find/find.ts";
import type { Observer } from "./observe/observer.ts";
import type { Story } from "./observe/story.ts";
import type { Surroundings } from "./reach/errand.ts";
import type { Newcomers } from "./reach/newcomers.ts";
import { reach } from "./reach/reach.ts";
import { ClientGone, headerValue, type Incoming, pathOf, type RequestHead } from "./request.ts";
import { type StaySurroundings, stayOpen } from "./stay-open.ts";

export interface World<I extends Incoming> extends Surroundings, StaySurroundings {
  readonly find: FindOptions;
  readonly lookup: Lookup;
  readonly newcomers: Newcomers;
  readonly authorizer: Authorizer;
  readonly activity: Activity;
  readonly observer: Observer;
  readonly carry: Carry<I>;
  /** 0 means no limit. A body of unknown length is the carrier's to count. */
  readonly maxRequestBodyBytes: number;
  /** Until a response begins, beside the limits of the request. */
  readonly responseHeaderTimeoutMs: number;
}

/** The life of a request: each line is a step, and names how it can end here. */
export async function serve<I extends Incoming>(incoming: I, world: World<I>): Promise<void> {
  const { head } = incoming;
  const { authorizer } = world;
  const story = world.observer.begin(incoming);
  try {
    if (isHealthCheck(head, world)) return incoming.answer(healthy);
    refuseMethod(head); // 405
    refuseLength(head, world.maxRequestBodyBytes); // 413
    const known = authorizer.authenticate(head); // 401, 503
    if (known) await known;
    let found = find(head, world.find, world.lookup); // 400, 404
    const arrival = world.newcomers.arrival(found, incoming);
    if (arrival) {
      await arrival;
      found = find(head, world.find, world.lookup);
    }
    const routed = story.routed(found);
    const decided = story.decided(() => authorizer.authorize(head, routed)); // 401, 403, 503
    const allowed = decided instanceof Promise ? await decided : decided;
    if (incoming.left) throw new ClientGone("the client left before it was let in");
    const use = world.activity.useBy(head);
    incoming.onEnded(() => use.end());
    const errand = { to: allowed.routed, waiting: incoming, around: world, journey: story, use };
    const reached = reach(errand);
    const upstream = reached instanceof Promise ? await reached : reached; // what keeps a sandbox from being reached
    story.reached(upstream.target);
    await world.carry(incoming, upstream, {
      subject: routed.name,
      byHost: routed.byHost,
      consumesAuthorization: authorizer.consumesAuthorization,
      trace: story.trace,
      responseStartMs: Math.min(
        routed.timeoutMs ?? Number.POSITIVE_INFINITY,
        world.options.proxyTimeoutMs,
        world.responseHeaderTimeoutMs,
      ),
      onFirstByte: () => {
        use.answered();
        story.firstByte();
      },
      onOpen(connection) {
        const onEnded = (listener: () => void) => incoming.onEnded(listener);
        return stayOpen(connection, { to: routed, target: upstream.target, onEnded, use }, world);
      },
    }); // 502, 504
  } catch (error) {
    refuse(incoming, error, story);
  }
}

// On a host that names a sandbox every path is the sandbox's own, or its `/healthz` could never be asked. Probes of
// the activator itself come by address or by its Service's name.
function isHealthCheck(head: RequestHead, { find: domains, lookup }: Pick<World<never>, "find" | "lookup">): boolean {
  if (pathOf(head.target) !== "/healthz" || (head.method !== "GET" && head.method !== "HEAD")) return false;
  return !hostNamesSandbox(head, domains, lookup);
}

/** CONNECT would make us an open proxy; TRACE shows a page headers that it may not read. */
function refuseMethod({ method }: RequestHead): void {
  if (method === "CONNECT" || method === "TRACE") throw new ActivatorError("MethodNotAllowed");
}

function refuseLength({ headers }: RequestHead, maxBytes: number): void {
  if (maxBytes > 0 && Number(headerValue(headers, "content-length")) > maxBytes)
    throw new ActivatorError("BodyTooLarge");
}

function refuse(incoming: Incoming, error: unknown, story: Story): void {
  if (error instanceof ClientGone || incoming.left) {
    story.clientLeft();
    return incoming.abort();
  }
  const refusal = toActivatorError(error);
  story.refused(refusal);
  if (incoming.answerable) incoming.answer(toResponse(refusal, incoming.head));
  else incoming.abort(); // an error body after the first bytes of a response would be taken for a part of it
}
