import { Activity } from "../../activator/activity/activity.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "./builders/builders.ts";

export const head = { target: "/work", headers: [] } as const;

/** The activity of one sandbox, on a clock of the test. */
export function openActivity(spec: Parameters<typeof aSandbox>[0] = {}) {
  const clock = new FakeClock();
  const activity = new Activity(clock);
  const sandbox = aSandbox(spec);
  const begin = (asked: Parameters<Activity["useBy"]>[0] = head) => {
    const use = activity.useBy(asked);
    use.begin(sandbox);
    return use;
  };
  const load = () => activity.loadOf(sandbox.metadata.uid, "p1");
  /** A connection that the Pod p1 has, and that its owner lets count by its data. */
  const open = () => {
    const use = begin();
    use.sentTo("p1");
    use.opened("Data");
    return use;
  };
  return { clock, activity, sandbox, begin, open, load };
}
