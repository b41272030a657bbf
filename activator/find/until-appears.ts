import type { Clock } from "../../lib/time/clock.ts";
import type { Leaver } from "../request.ts";
import type { Cluster } from "../sandbox/cluster.ts";

/** How long a client waits for a sandbox that its owner may have created or changed a moment ago, in milliseconds. */
const appearLimitMs = 500;

export interface AppearanceDeps {
  readonly cluster: Pick<Cluster, "listen">;
  readonly clock: Clock;
}

/**
 * Resolves when the sandbox of this name is as awaited, the time is up or the client has left. The client's listener is the caller's
 * to take off.
 */
export async function untilAppears(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  client: Leaver,
  { cluster, clock }: AppearanceDeps,
  isThere: () => boolean,
): Promise<void> {
  using changes = cluster.listen(namespace, name);
  let isOver = client.left;
  const stop = () => {
    isOver = true;
    changes.notify();
  };
  using _limit = clock.after(appearLimitMs, stop);
  client.onLeave(stop);
  while (!isOver && !isThere()) {
    await changes.next();
    changes.reset();
  }
}
