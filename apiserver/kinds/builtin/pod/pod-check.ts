import type { Container, Pod, PodSpec, Volume } from "../../../../api/kinds/core.ts";
import type { StatusCause } from "../../../../api/kinds/meta.ts";
import { repeatedAt } from "../../../../lib/data/repeated-at.ts";
import { labelName } from "../../metadata/names.ts";
import { duplicate, forbidden, invalid, notSupported, required } from "../../schema/causes.ts";
import { checkContainer } from "./container-check.ts";

const restartPolicies = ["Always", "Never", "OnFailure"];
const dnsPolicies = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
const maxDeadlineSeconds = 2 ** 31 - 1;

/** Faults of a Pod beyond the types of its fields, in the words of an API server. */
export function checkPod({ spec }: Pod): readonly StatusCause[] {
  if (!spec) return [required("spec.containers")];
  return [
    ...checkVolumes(spec.volumes ?? []),
    ...checkContainers(spec),
    ...checkOneOf("spec.restartPolicy", spec.restartPolicy, restartPolicies),
    ...checkOneOf("spec.dnsPolicy", spec.dnsPolicy, dnsPolicies),
    ...checkSeconds(spec),
    ...checkGates(spec),
  ];
}

function checkGates({ nodeName, schedulingGates = [] }: PodSpec): readonly StatusCause[] {
  if (!nodeName || schedulingGates.length === 0) return [];
  return [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")];
}

function checkContainers(spec: PodSpec): readonly StatusCause[] {
  const { containers = [], initContainers = [] } = spec;
  const volumes = new Set((spec.volumes ?? []).map(({ name }) => name));
  const claims = containers.length === 0 ? [required("spec.containers")] : [];
  const lists = [
    { field: "spec.containers", list: containers },
    { field: "spec.initContainers", list: initContainers },
  ];
  const each = lists.flatMap(({ field, list }) =>
    list.flatMap((container, index) => checkContainer(container, `${field}[${index}]`, volumes)),
  );
  return [...claims, ...each, ...checkUniqueNames(lists)];
}

function checkUniqueNames(
  lists: readonly { readonly field: string; readonly list: readonly Container[] }[],
): readonly StatusCause[] {
  const seen = new Set<string>();
  return lists.flatMap(({ field, list }) =>
    list.flatMap(({ name }, index) => {
      if (!name) return [];
      const again = seen.has(name);
      seen.add(name);
      return again ? [duplicate(`${field}[${index}].name`, name)] : [];
    }),
  );
}

function checkVolumes(volumes: readonly Volume[]): readonly StatusCause[] {
  const repeated = repeatedAt(volumes.map(({ name }) => name));
  return volumes.flatMap((volume, index) => {
    const { name, ...sources } = volume;
    const field = `spec.volumes[${index}]`;
    const [, second] = Object.keys(sources);
    return [
      // The schema reports a missing name, but not an empty one.
      ...(name === "" ? [required(`${field}.name`)] : []),
      ...(name ? labelName(name).map((complaint) => invalid(`${field}.name`, name, complaint)) : []),
      ...(repeated.has(index) ? [duplicate(`${field}.name`, name)] : []),
      ...(second ? [forbidden(`${field}.${second}`, "may not specify more than 1 volume type")] : []),
    ];
  });
}

function checkOneOf(field: string, value: string | undefined, supported: readonly string[]): readonly StatusCause[] {
  return value === undefined || supported.includes(value) ? [] : [notSupported(field, value, supported)];
}

function checkSeconds({ activeDeadlineSeconds, terminationGracePeriodSeconds = 0 }: PodSpec): readonly StatusCause[] {
  const deadlineIsWrong =
    activeDeadlineSeconds !== undefined && (activeDeadlineSeconds < 1 || activeDeadlineSeconds > maxDeadlineSeconds);
  return [
    ...(deadlineIsWrong
      ? [
          invalid(
            "spec.activeDeadlineSeconds",
            activeDeadlineSeconds,
            `must be between 1 and ${maxDeadlineSeconds}, inclusive`,
          ),
        ]
      : []),
    ...(terminationGracePeriodSeconds < 0
      ? [
          invalid(
            "spec.terminationGracePeriodSeconds",
            terminationGracePeriodSeconds,
            "must be greater than or equal to 0",
          ),
        ]
      : []),
  ];
}
