import type { ContainerStatus, Pod } from "../../../../api/kinds/core.ts";
import type { Column } from "../../../served-kind.ts";
import { ageSince } from "../../age.ts";
import { ageColumn, column, nameColumn, orNone, wideColumn } from "../columns.ts";
import { podStatusText } from "./pod-status-text.ts";

export const podColumns: readonly Column[] = [
  nameColumn,
  column<Pod>("Ready", readyText),
  column<Pod>("Status", podStatusText),
  column<Pod>("Restarts", restartsText),
  ageColumn,
  wideColumn<Pod>("IP", ({ status }) => orNone(status?.podIP)),
  wideColumn<Pod>("Node", ({ spec }) => orNone(spec?.nodeName)),
  wideColumn<Pod>("Nominated Node", () => "<none>"),
  wideColumn<Pod>("Readiness Gates", gatesText),
];

function readyText({ spec, status }: Pod): string {
  const ready = (status?.containerStatuses ?? []).filter((one) => one.ready && one.state?.running);
  return `${ready.length}/${spec?.containers.length ?? 0}`;
}

function restartsText({ status }: Pod, now: Date): string {
  const statuses = status?.containerStatuses ?? [];
  const restarts = statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
  const last = lastEnd(statuses);
  return restarts > 0 && last ? `${restarts} (${ageSince(last, now)} ago)` : String(restarts);
}

function lastEnd(statuses: readonly ContainerStatus[]): string | undefined {
  const ends = statuses.flatMap(({ lastState }) => lastState?.terminated?.finishedAt ?? []);
  return ends.sort().at(-1);
}

function gatesText({ spec, status }: Pod): string {
  const gates = spec?.readinessGates ?? [];
  if (gates.length === 0) return "<none>";
  const passed = gates.filter(({ conditionType }) =>
    status?.conditions?.some(({ type, status: value }) => type === conditionType && value === "True"),
  );
  return `${passed.length}/${gates.length}`;
}
