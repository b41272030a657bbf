import type { ContainerStatus } from "../../api/core.ts";
import { PodLogRefused, type PodLogRequest, type PodLogSource } from "../../kube/memory/pod-log-source.ts";
import type { ContainerLog } from "./container-log.ts";
import type { Directories } from "./directories.ts";
import { limitBytes, readLog } from "./log-reader.ts";

export interface PodLogsOptions {
  /** The present status of a container, newer than what the API server has been told. */
  readonly statusOf: (podUid: string, container: string) => ContainerStatus | undefined;
  /** The log at this path, while something writes to it. */
  readonly liveLog: (path: string) => ContainerLog | undefined;
  readonly directories: Directories;
}

/** The logs of the Pods of this node, with the refusals of a kubelet. */
export function createPodLogs({ statusOf, liveLog, directories }: PodLogsOptions): PodLogSource {
  return {
    async *read(request, signal) {
      const { metadata, status = {} } = request.pod;
      const stored = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
      const found = statusOf(metadata.uid, request.container) ?? stored.find(({ name }) => name === request.container);
      const path = directories.containerLog(metadata.uid, request.container, chooseRun(request, found));
      const { follow, timestamps, tailLines } = request;
      const since = request.since?.toISOString();
      const lines = readLog(path, liveLog(path), { follow, timestamps, tailLines, since }, signal);
      yield* limitBytes(lines, request.limitBytes);
    },
  };
}

/** Number of the run whose log is asked for: runs are counted by restarts. */
function chooseRun({ pod, container, previous }: PodLogRequest, status: ContainerStatus | undefined): number {
  const { state, lastState, restartCount = 0 } = status ?? {};
  // While a container waits to be started again, its restarts count up to the run that has ended.
  const waiting = state?.running === undefined && state?.terminated === undefined;
  const name = `"${container}" in pod "${pod.metadata.name}"`;
  if (previous && !lastState?.terminated) throw new PodLogRefused(`previous terminated container ${name} not found`);
  if (previous) return waiting ? restartCount : restartCount - 1;
  if (!waiting || lastState?.terminated) return restartCount;
  const reason = state?.waiting?.reason ?? "ContainerCreating";
  throw new PodLogRefused(`container ${name} is waiting to start: ${reason}`);
}
