import { ActivatorError } from "../failures/errors-for-clients.ts";
import { ClientGone } from "../request.ts";
import type { Target } from "../sandbox/resolve.ts";
import { beginUse, type ConnectRequest, commit, holdLeftMs, resolveNow } from "./connect-request.ts";
import type { Upstream } from "./connector.ts";
import { DialError } from "./dial.ts";
import { slotsOf } from "./held-slots.ts";

/**
 * Returns a connection to the sandbox, and wakes the sandbox if it sleeps. The use is marked as sent with it: at once with an
 * idle connection, so most requests do not wait.
 *
 * @throws ActivatorError if no connection comes in time; ClientGone if the client left.
 */
export function reach(connectRequest: ConnectRequest): Upstream | Promise<Upstream> {
  const { to, deps, client, use } = connectRequest;
  const seen = resolveNow(to, client.head, undefined, deps);
  if (seen.is === "refused") throw seen.error;
  beginUse(connectRequest);
  if (seen.is === "addressed" && deps.prober.acceptedMs(seen.target) !== undefined) {
    const { target } = seen;
    const idle = deps.connector.idle(target, client.head);
    if (idle) {
      use.sentTo(target.podUid); // in the step that resolved
      return idle;
    }
    return dialOrWait(target, forSandboxNow(connectRequest));
  }
  return deps.holds.join(connectRequest);
}

/** The use has begun for the sandbox that has the name now: another one that gets the name during the dial is not sent the request. */
function forSandboxNow(connectRequest: ConnectRequest): ConnectRequest {
  const { to, deps } = connectRequest;
  const uid = to.uid ?? deps.cluster.sandbox(to.namespace, to.name)?.metadata.uid;
  return { ...connectRequest, to: { ...to, uid } };
}

async function dialOrWait(target: Target, connectRequest: ConnectRequest): Promise<Upstream> {
  const dialled = await tryDial(target, connectRequest);
  return dialled && commit(dialled, connectRequest) ? dialled : connectRequest.deps.holds.join(connectRequest);
}

/**
 * Dials a port that accepted before, in a slot of `holdLimits` and within the hold timeout. Undefined: the port accepts no longer, so
 * the request must be held.
 */
async function tryDial(target: Target, connectRequest: ConnectRequest): Promise<Upstream | undefined> {
  const { to, deps, client, observer } = connectRequest;
  if (client.left) throw new ClientGone("the client left");
  const over = new AbortController();
  using _slot = slotsOf(connectRequest, (error) => over.abort(error));
  using _held = observer.held();
  const because = `waiting for port ${target.port} to accept connections`;
  const dialling = {
    timedOut: () => over.abort(new ActivatorError("WakeTimedOut", { subject: to.name, because })),
    end: (reason: ActivatorError) => over.abort(reason),
  };
  let isInVain = false;
  const mayDial = () => {
    isInVain = deps.prober.acceptedMs(target) === undefined; // another dial has failed meanwhile
    return !isInVain;
  };
  deps.holdDeadlines.begin(dialling, holdLeftMs(connectRequest));
  client.onLeave(() => over.abort(new ClientGone("the client left")));
  try {
    return await deps.connector.connect(target, client.head, { signal: over.signal, mayDial });
  } catch (error) {
    if (!(error instanceof DialError)) throw error;
    if (isInVain) return undefined;
    deps.prober.forget(target);
    observer.dialFailed(error);
    return undefined;
  } finally {
    deps.holdDeadlines.over(dialling);
    client.onLeave(undefined);
  }
}
