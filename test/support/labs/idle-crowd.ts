import { Registry } from "prom-client";
import type { ActivityAnswer } from "../../../api/between-programs/drain-protocol.ts";
import { keyFor, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { mergePatch } from "../../../apiserver/patch/merge-patch.ts";
import { ActivityView } from "../../../controller/idle/activity-view.ts";
import { IdleWatch } from "../../../controller/idle/idle-watch.ts";
import { SuspendIdle } from "../../../controller/idle/suspend-idle.ts";
import { OwnWrites } from "../../../controller/own-writes.ts";
import { KnownActivators } from "../../../controller/suspension/activators/activators.ts";
import { FencedPods } from "../../../controller/suspension/handshake/fenced-pods.ts";
import { RejectedSuspensions } from "../../../controller/suspension/handshake/rejected-suspensions.ts";
import { SuspensionMetrics } from "../../../controller/suspension/suspension-metrics.ts";
import { ApiUnreachable } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../builders/builders.ts";
import { feedInformer } from "../fakes/fed-informer.ts";
import { interceptCalls } from "../fakes/intercepted-client.ts";
import { refusingClient } from "../fakes/refusing-client.ts";

export const startMs = Date.parse("2026-01-01T12:00:00Z");
export const timeoutSeconds = 60;
export const crowd = 100;

/** A Pod that was made and Ready when its sandbox was. */
const readyPodOf = (sandbox: Stored<Sandbox>, _clock: FakeClock) =>
  aPodReadySince(sandbox, sandbox.metadata.creationTimestamp);

export const aPodReadySince = (sandbox: Stored<Sandbox>, lastTransitionTime: string | undefined) => {
  const status = lastTransitionTime === undefined ? "False" : "True";
  const ready = { type: "Ready", status, ...(lastTransitionTime !== undefined && { lastTransitionTime }) } as const;
  const { creationTimestamp } = sandbox.metadata;
  return aPodOf(sandbox, { creationTimestamp }, { phase: "Running", conditions: [ready] });
};

/** Sandboxes that were created within the last minute, watched by a former leader and not used since, and one activator that reports this. */
export function aCrowd({
  size = crowd,
  podOf = readyPodOf,
  keepAwakeUntil = undefined as string | undefined,
  change = (sandbox: Stored<Sandbox>) => sandbox,
  aheadMs = 0,
  rest = async () => {},
} = {}) {
  const clock = new FakeClock(new Date(startMs + aheadMs));
  const sandboxes = new Map<string, Stored<Sandbox>>();
  const asleepAtMs: number[] = [];
  const state = { apiIsAway: false, isBroken: false, isBrokenAfterSweeps: false, sweeps: 0 };
  let readAtMs = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < size; index += 1) {
    const creationTimestamp = new Date(startMs - (index * timeoutSeconds * 1_000) / crowd).toISOString();
    const metadata = { name: `nova-${index}`, uid: `uid-${index}`, creationTimestamp };
    const autoSuspension = { inactivityTimeoutSeconds: timeoutSeconds, ...(keepAwakeUntil && { keepAwakeUntil }) };
    const nextSuspensionTime = new Date(Date.parse(creationTimestamp) + timeoutSeconds * 1_000).toISOString();
    const sandbox = aSandbox({ autoSuspension }, metadata, { lastActivityTime: creationTimestamp, nextSuspensionTime });
    sandboxes.set(keyFor("lab", metadata.name), change(sandbox));
  }
  const client = interceptCalls(refusingClient, async ({ name, body }) => {
    if (state.apiIsAway) throw new ApiUnreachable("refused");
    const sandbox = sandboxes.get(keyFor("lab", name));
    if (!sandbox) throw new Error(`there is no ${name}`);
    asleepAtMs.push(clock.ticksMs());
    const asleep = mergePatch(sandbox, body) as Stored<Sandbox>;
    sandboxes.set(keyFor("lab", name), asleep);
    return asleep;
  });
  const finder = new KnownActivators();
  finder.are([{ id: "one", host: "127.0.0.1", port: 1 }]);
  const answer: ActivityAnswer = { epoch: "first", cursor: 0, full: false, activities: [] };
  const common = { client, clock, log: silentLogger, events: undefined };
  const { informer } = feedInformer<Sandbox>({});
  const watch = new IdleWatch({
    ...common,
    read: (key) => {
      const sandbox = sandboxes.get(key);
      return sandbox && { sandbox, pods: [podOf(sandbox, clock)] };
    },
    finder,
    turns: { rest },
    rounds: {
      activity: async () => answer,
      keep: () => {
        // Between its readings the watch reads only when it has found idle sandboxes.
        const isAfterSweep = clock.ticksMs() < readAtMs + 5_000;
        if (isAfterSweep) state.sweeps += 1;
        else readAtMs = clock.ticksMs();
        const isBroken = state.isBroken || (isAfterSweep && state.isBrokenAfterSweeps);
        if (isBroken) throw new RangeError("a fault of ours");
      },
    },
    view: new ActivityView(),
    rejections: new RejectedSuspensions(common),
    fencedPods: new FencedPods(() => undefined),
    fallAsleep: new SuspendIdle({
      ...common,
      sandboxes: new OwnWrites(informer, clock),
      askWorkload: async () => undefined,
    }),
    metrics: new SuspensionMetrics(new Registry()),
  });
  for (const key of sandboxes.keys()) watch.checkAt(key);
  const becomes = (sandbox: Stored<Sandbox>) => {
    sandboxes.set(keyOf(sandbox), sandbox);
    watch.checkAt(keyOf(sandbox));
  };
  return { clock, watch, asleepAtMs, state, becomes };
}

export const pass = async (clock: FakeClock, seconds: number) => {
  for (let second = 0; second < seconds; second += 1) await clock.advance(1_000);
};
