import type { ContainerState, ContainerStatus, Pod } from "../../../../api/kinds/core.ts";

/** The status of a Pod in `kubectl get pods`: its phase, or a more specific reason. */
export function podStatusText(pod: Pod): string {
  const { metadata, status = {} } = pod;
  if (metadata.deletionTimestamp) return status.reason === "NodeLost" ? "Unknown" : "Terminating";
  return initText(pod) ?? containersText(pod);
}

/** Until the init containers have completed, the status is about them. */
function initText({ spec, status = {} }: Pod): string | undefined {
  const sidecars = new Set(
    (spec?.initContainers ?? []).filter((one) => one.restartPolicy === "Always").map(({ name }) => name),
  );
  const statuses = status.initContainerStatuses ?? [];
  const at = statuses.findIndex((one) => !isInitialized(one, sidecars.has(one.name)));
  const state = statuses[at]?.state;
  if (at < 0) return undefined;
  const { terminated, waiting } = state ?? {};
  if (terminated) return `Init:${endText(terminated)}`;
  if (waiting?.reason && waiting.reason !== "PodInitializing") return `Init:${waiting.reason}`;
  return `Init:${at}/${spec?.initContainers?.length ?? 0}`;
}

function isInitialized({ state, started }: ContainerStatus, isSidecar: boolean): boolean {
  return state?.terminated?.exitCode === 0 || (isSidecar && started === true);
}

/** The status of the first container with a reason. */
function containersText({ status = {} }: Pod): string {
  const phase = status.reason || status.phase || "Unknown";
  const gate = status.conditions?.find(({ type, status: value }) => type === "PodScheduled" && value === "False");
  const statuses = status.containerStatuses ?? [];
  const text = statuses.map(({ state }) => stateText(state)).find((one) => one !== undefined);
  if (text === undefined) return gate?.reason === "SchedulingGated" ? "SchedulingGated" : phase;
  // A Pod with one completed container is not completed while another one runs.
  if (text !== "Completed" || !statuses.some(({ ready, state }) => ready && state?.running)) return text;
  return status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True")
    ? "Running"
    : "NotReady";
}

function stateText(state: ContainerState | undefined): string | undefined {
  if (state?.waiting?.reason) return state.waiting.reason;
  return state?.terminated ? endText(state.terminated) : undefined;
}

function endText({ reason, signal, exitCode }: NonNullable<ContainerState["terminated"]>): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);
}
