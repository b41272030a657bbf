import { join } from "node:path";
import type { Registry } from "prom-client";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log/log.ts";
import { metricsPage } from "../../lib/net/metrics-page.ts";
import { type Page, startPageServer } from "../../lib/net/page-server.ts";
import { aborted, type Running, startTask } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { Agent } from "./agent.ts";
import { AgentMetrics } from "./agent-metrics.ts";
import type { AgentConfig } from "./config/config.ts";
import type { StoreLimits } from "./decide/observed.ts";
import { diskPlaces, usualThreads } from "./doors/disk-places.ts";
import type { Doors } from "./doors/doors.ts";
import { Files } from "./doors/files.ts";
import { Processes } from "./doors/processes.ts";
import { Runsc } from "./doors/runsc.ts";
import { Sandboxes } from "./doors/sandboxes.ts";
import { ImageStore } from "./store/image-store.ts";
import { openStore, StoreAnswers, watchStore } from "./store/open-store.ts";
import { Records } from "./store/records.ts";
import { StoreFile } from "./store/store-file.ts";
import { TrialWrite } from "./store/trial-write.ts";
import { keepPublicKeys } from "./watch/keep-public-keys.ts";
import { readPod } from "./watch/read-pod.ts";
import { report } from "./watch/report.ts";
import { startWatching, type Watching } from "./watch/start-watching.ts";
import { work } from "./work.ts";

/** Longer than the longest capture: the Pod would only be thawed at the next start. */
export const endLimitMs = 75_000;

export interface StartParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

export interface RunningAgent extends Running {
  readonly metricsUrl: string | undefined;
  readonly healthUrl: string | undefined;
}

export interface DoorSettings extends Pick<AgentConfig, "runsc" | "storeRoot">, Partial<Pick<AgentConfig, "threads">> {
  readonly clock: Clock;
  readonly files?: Files;
}

/** All that the agent has of its node, at the places that the configuration names. */
export function openDoors({
  runsc,
  storeRoot,
  clock,
  files = new Files(),
  threads = usualThreads,
}: DoorSettings): Doors {
  const processes = new Processes();
  return {
    files,
    processes,
    clock,
    runsc: new Runsc(runsc, clock),
    sandboxes: new Sandboxes(runsc.root, { files, processes, clock }),
    store: new ImageStore(join(storeRoot, "images"), files),
    records: new Records(storeRoot, files),
    storeFile: new StoreFile(storeRoot, files),
    trial: new TrialWrite(storeRoot, files, clock),
    diskPlaces: diskPlaces(threads),
  };
}

/** Starts the agent of a node. Disposal finishes the captures in progress. */
export async function startAgent(config: AgentConfig, parts: StartParts): Promise<RunningAgent> {
  const { clock, log, registry } = parts;
  await using stack = new AsyncDisposableStack();
  const doors = openDoors({ ...config, clock });
  await doors.files.makeFolder(config.storeRoot);
  const state = { isReady: () => false, frozen: () => 0 };
  const metrics = new AgentMetrics(registry, {
    frozen: () => state.frozen(),
    used: () => doors.store.sizes.knownBytes(),
  });
  const metricsServer =
    config.metricsAddress &&
    stack.use(
      await startPageServer({
        name: "metrics",
        address: config.metricsAddress,
        pages: { "/metrics": metricsPage(registry) },
        log,
      }),
    );
  const health = { "/healthz": () => page(true), "/readyz": () => page(state.isReady()) };
  const healthServer =
    config.healthAddress &&
    stack.use(await startPageServer({ name: "health", address: config.healthAddress, pages: health, log }));
  const task = stack.use(
    startTask("the node agent", async (signal) => {
      await using keys = keepPublicKeys({ ...parts, files: doors.files, ...config });
      await using watching = await startWatching({ ...parts, nodeName: config.nodeName }, signal);
      const calls = {
        report: (...args: OmitFirst<typeof report>) => report(parts.client, ...args),
        readPod: (name: Parameters<typeof readPod>[1]) => readPod(parts.client, name),
      };
      const { storeRoot } = config;
      await Promise.race([aborted(signal), watching.synced, watching.failed]);
      if (signal.aborted) return;
      const stores = { clock, log, store: doors.storeFile, named: () => namedStores(watching) };
      const opened = openStore(stores, signal).catch(ignoreEnd(signal));
      const identity = await Promise.race([opened, watching.failed, keys.failed]);
      if (!identity) return;
      await tidyStore(storeRoot, doors, log);
      const limits = limitsOf(config, await doors.files.diskBytes(storeRoot));
      const agent = new Agent({ doors, metrics, log, limits, storeRoot, identity, view: watching.view, ...calls });
      state.frozen = () => agent.frozenPods();
      const answers = new StoreAnswers(clock);
      state.isReady = () => !watching.isCutOff() && !answers.isSilent();
      // An agent whose store goes away ends: the next one waits for it.
      const watched = watchStore({ ...stores, answers, trial: doors.trial }, identity, signal).catch(ignoreEnd(signal));
      await Promise.race([work(agent, { watching, doors, log }, signal), watched, keys.failed]);
    }),
  );
  const started = stack.move();
  return {
    failed: task.failed,
    metricsUrl: metricsServer?.url,
    healthUrl: healthServer?.url,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** On a disk that has become read-only, the agent still tells what the store has. */
async function tidyStore(storeRoot: string, { files, records }: Doors, log: Logger): Promise<void> {
  try {
    await files.makeFolder(join(storeRoot, "images"));
    await records.removeUnfinished();
  } catch (error) {
    log.warn({ err: error }, "cannot remove what an earlier agent had begun to write; retrying at the next start");
  }
}

/** With both limits of free space as bytes of this disk. */
export const limitsOf = (
  { limits, minFreePercent }: Pick<AgentConfig, "limits" | "minFreePercent">,
  diskBytes: number,
): StoreLimits => ({
  ...limits,
  minFreeBytes: Math.max(limits.minFreeBytes, Math.round((diskBytes * minFreePercent) / 100)),
});

/** The stores that have memory of this node, as the API says. */
const namedStores = ({ keys, view }: Watching): readonly string[] =>
  keys().flatMap((key) => {
    const { phase, storeID } = view.memoryImage(key)?.status ?? {};
    return storeID !== undefined && (phase === "Captured" || phase === "Capturing") ? [storeID] : [];
  });

const ignoreEnd = (signal: AbortSignal) => (error: unknown) => {
  if (!signal.aborted) throw error;
  return undefined;
};

type OmitFirst<F> = F extends (first: never, ...rest: infer R) => unknown ? R : never;

const page = (isFine: boolean): Page => ({
  status: isFine ? 200 : 503,
  contentType: "text/plain",
  body: isFine
    ? "ok\n"
    : "the Pods of the node are not known yet, the API server is not reached, or the store is not there or does not answer\n",
});
