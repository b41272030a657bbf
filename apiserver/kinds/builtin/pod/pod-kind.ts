import { type Pod, podType } from "../../../../api/kinds/core.ts";
import { builtinKind } from "../builtin-kind.ts";
import { checkPod } from "./pod-check.ts";
import { podColumns } from "./pod-columns.ts";
import { completePod } from "./pod-defaults.ts";
import { podSchema } from "./pod-schema.ts";
import { checkPodUpdate } from "./pod-update.ts";

export const podKind = builtinKind({
  type: podType,
  shortNames: ["po"],
  categories: ["all"],
  hasStatus: true,
  schema: podSchema,
  columns: podColumns,
  complete: (pod) => completePod(pod as Pod),
  check: (pod, { old, subresource }) => {
    if (subresource === "status") return [];
    return [...checkPod(pod as Pod), ...(old ? checkPodUpdate(pod as Pod, old as Pod) : [])];
  },
  selectableFields: (object) => {
    const { spec, status } = object as Pod;
    return {
      "spec.nodeName": spec?.nodeName ?? "",
      "spec.restartPolicy": spec?.restartPolicy ?? "",
      "spec.serviceAccountName": spec?.serviceAccountName ?? "",
      "status.phase": status?.phase ?? "",
      "status.podIP": status?.podIP ?? "",
    };
  },
  graceSeconds: (pod, requested) => podGraceSeconds(pod as Pod, requested),
});

/** A Pod without a node, or one that has ended, needs no grace period. */
function podGraceSeconds({ spec, status }: Pod, requested: number | undefined): number {
  if (!spec?.nodeName || status?.phase === "Succeeded" || status?.phase === "Failed") return 0;
  const seconds = requested ?? spec.terminationGracePeriodSeconds ?? 30;
  return seconds < 0 ? 1 : seconds;
}
