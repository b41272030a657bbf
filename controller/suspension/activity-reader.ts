import type { SandboxActivity } from "../../api/drain-protocol.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ActivatorFinder } from "./activators.ts";
import type { ActivityView } from "./activity-view.ts";
import type { ActivatorRounds } from "./ask-activators.ts";

export interface ActivityReaderOptions {
  readonly finder: ActivatorFinder;
  readonly rounds: Pick<ActivatorRounds, "activity" | "keep">;
  readonly view: ActivityView;
  readonly clock: Clock;
}

/** Brings the view of what is used up to date, with one call to each activator. Returns what has changed. */
export async function readActivity(
  { finder, rounds, view, clock }: ActivityReaderOptions,
  signal: AbortSignal,
): Promise<readonly SandboxActivity[]> {
  const activators = finder.known();
  const ids = activators.map(({ id }) => id);
  view.listed(ids, clock.ticksMs());
  rounds.keep(activators);
  const news = await Promise.all(
    activators.map(async (activator) => {
      const reply = await rounds.activity(activator, view.requestFor(activator.id), signal);
      if ("epoch" in reply) {
        view.heard(activator.id, reply, clock.ticksMs());
        return reply.activities;
      }
      if (reply.is === "absent") view.absent(activator.id, clock.ticksMs());
      return [];
    }),
  );
  return news.flat();
}
