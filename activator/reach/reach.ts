import { ClientGone } from "../request.ts";
import type { Target } from "../sandbox/look.ts";
import type { Upstream } from "./connector.ts";
import { DialError } from "./dial.ts";
import { beginUse, commit, type Errand, lookNow } from "./errand.ts";

/**
 * A connection to the sandbox, waking it if it sleeps. What waited counts as sent when there is one: at once, where one
 * is idle, so that most requests wait for nothing.
 *
 * @throws ActivatorError when there is none and none will come in time; ClientGone when nobody waits for it any more.
 */
export function reach(errand: Errand): Upstream | Promise<Upstream> {
  const { to, around, waiting, use } = errand;
  const seen = lookNow(to, waiting.head, undefined, around);
  if (seen.is === "refused") throw seen.error;
  beginUse(errand);
  if (seen.is === "addressed" && around.prober.acceptedMs(seen.target) !== undefined) {
    const { target } = seen;
    const idle = around.connector.idle(target, waiting.head);
    if (idle) {
      use.sentTo(target.podUid); // in the step that looked
      return idle;
    }
    return dialOrWait(target, errand);
  }
  return around.waits.join(errand);
}

async function dialOrWait(target: Target, errand: Errand): Promise<Upstream> {
  const dialled = await tryDial(target, errand);
  return dialled && commit(dialled, errand) ? dialled : errand.around.waits.join(errand);
}

/** A dial for somebody who is not held: nothing but the end of it or of them is waited for. */
async function tryDial(target: Target, { around, waiting, journey }: Errand): Promise<Upstream | undefined> {
  const gone = new AbortController();
  const leave = () => gone.abort(new ClientGone("the client left"));
  if (waiting.left) leave();
  waiting.onLeave(leave);
  try {
    return await around.connector.connect(target, waiting.head, gone.signal);
  } catch (error) {
    if (!(error instanceof DialError)) throw error;
    around.prober.forget(target);
    journey.dialFailed(error);
    return undefined;
  } finally {
    waiting.onLeave(undefined);
  }
}
