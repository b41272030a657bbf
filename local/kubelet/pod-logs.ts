import type { ContainerStatus, Pod } from "../../api/core.ts";
import { podType } from "../../api/core.ts";
import { keyFor, type Stored } from "../../api/meta.ts";
import type { Store } from "../../kube/informer.ts";
import type { PodLogRequest, PodLogSource } from "../../kube/memory/pod-log-source.ts";
import { badRequest, notFound } from "../../kube/memory/status-errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ContainerLog } from "./container-log.ts";
import type { Directories } from "./directories.ts";
import { limitBytes, readLog } from "./log-reader.ts";

export interface PodLogsOptions {
  readonly pods: Store<Pod>;
  /** The present status of a container, newer than what the API server has been told. */
  readonly statusOf: (podUid: string, container: string) => ContainerStatus | undefined;
  /** The log at this path, while something writes to it. */
  readonly liveLog: (path: string) => ContainerLog | undefined;
  readonly directories: Directories;
  readonly clock: Clock;
}

/** The logs of the Pods of this node, with the refusals of a real API server and kubelet. */
export function createPodLogs({ pods, statusOf, liveLog, directories, clock }: PodLogsOptions): PodLogSource {
  return {
    open(request, signal) {
      const pod = pods.get(keyFor(request.namespace, request.pod));
      if (!pod) throw notFound(podType, request.pod);
      const container = chooseContainer(pod, request);
      const stored = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
      const status = statusOf(pod.metadata.uid, container) ?? stored.find(({ name }) => name === container);
      const path = directories.containerLog(pod.metadata.uid, container, chooseRun(pod, container, status, request));
      const since =
        request.sinceSeconds === undefined
          ? undefined
          : new Date(clock.now().getTime() - request.sinceSeconds * 1000).toISOString();
      const lines = readLog(
        path,
        liveLog(path),
        {
          follow: request.follow ?? false,
          timestamps: request.timestamps ?? false,
          tailLines: request.tailLines,
          since,
        },
        signal,
      );
      return limitBytes(lines, request.limitBytes);
    },
  };
}

function chooseContainer({ metadata, spec }: Stored<Pod>, { container }: PodLogRequest): string {
  const names = (spec?.containers ?? []).map(({ name }) => name);
  const initNames = (spec?.initContainers ?? []).map(({ name }) => name);
  if (container) {
    if ([...names, ...initNames].includes(container)) return container;
    throw badRequest(`container ${container} is not valid for pod ${metadata.name}`);
  }
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  const choice = `choose one of: [${names.join(" ")}]`;
  const initChoice = initNames.length > 0 ? ` or one of the init containers: [${initNames.join(" ")}]` : "";
  throw badRequest(`a container name must be specified for pod ${metadata.name}, ${choice}${initChoice}`);
}

/** Number of the run whose log is asked for: runs are counted by restarts. */
function chooseRun(
  { metadata }: Stored<Pod>,
  container: string,
  status: ContainerStatus | undefined,
  { previous }: PodLogRequest,
): number {
  const { state, lastState, restartCount = 0 } = status ?? {};
  // While a container waits to be started again, its restarts count up to the run that has ended.
  const waiting = state?.running === undefined && state?.terminated === undefined;
  if (previous && !lastState?.terminated) {
    throw badRequest(`previous terminated container "${container}" in pod "${metadata.name}" not found`);
  }
  if (previous) return waiting ? restartCount : restartCount - 1;
  if (!waiting || lastState?.terminated) return restartCount;
  const reason = state?.waiting?.reason ?? "ContainerCreating";
  throw badRequest(`container "${container}" in pod "${metadata.name}" is waiting to start: ${reason}`);
}
