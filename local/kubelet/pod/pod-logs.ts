import type { ContainerStatus } from "../../../api/kinds/core.ts";
import { PodLogRefused, type PodLogRequest, type PodLogSource } from "../../../apiserver/pod-log-source.ts";
import type { ContainerLog } from "../container/container-log.ts";
import { limitBytes, readLog } from "../container/log-reader.ts";
import type { Directories } from "../volumes/directories.ts";

export interface PodLogsOptions {
  /** The current status of a container, newer than the one in the API server. */
  readonly statusOf: (podUid: string, container: string) => ContainerStatus | undefined;
  /** The log at this path, while it is open. */
  readonly liveLog: (path: string) => ContainerLog | undefined;
  readonly directories: Directories;
}

/** The logs of the Pods of this node, with the error messages of a kubelet. */
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

/** The number of the requested run: runs are counted by restarts. */
function chooseRun({ pod, container, previous }: PodLogRequest, status: ContainerStatus | undefined): number {
  const { state, lastState, restartCount = 0 } = status ?? {};
  // While a container waits for a restart, its restart count is the number of the run that has ended.
  const waiting = state?.running === undefined && state?.terminated === undefined;
  const name = `"${container}" in pod "${pod.metadata.name}"`;
  if (previous && !lastState?.terminated) throw new PodLogRefused(`previous terminated container ${name} not found`);
  if (previous) return waiting ? restartCount : restartCount - 1;
  if (!waiting || lastState?.terminated) return restartCount;
  const reason = state?.waiting?.reason ?? "ContainerCreating";
  throw new PodLogRefused(`container ${name} is waiting to start: ${reason}`);
}
