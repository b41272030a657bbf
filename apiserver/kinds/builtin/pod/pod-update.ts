import type { Container, Pod, PodSpec } from "../../../../api/kinds/core.ts";
import type { StatusCause } from "../../../../api/kinds/meta.ts";
import { canonicalJson, isJsonObject, sameJson } from "../../../json-values.ts";
import { forbidden, invalid } from "../../schema/causes.ts";

const onlyThese =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
  "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** Changes of immutable fields of a Pod. */
export function checkPodUpdate(pod: Pod, old: Pod): readonly StatusCause[] {
  if (!pod.spec || !old.spec) return [];
  const isFixed = sameJson(fixed(pod.spec, old.spec), fixed(old.spec, old.spec));
  return [
    ...addedGates(pod.spec, old.spec),
    ...laterDeadline(pod.spec, old.spec),
    ...(isFixed ? [] : [forbidden("spec", onlyThese)]),
  ];
}

function laterDeadline({ activeDeadlineSeconds: after }: PodSpec, old: PodSpec): readonly StatusCause[] {
  const before = old.activeDeadlineSeconds;
  const refused = (why: string) => [invalid("spec.activeDeadlineSeconds", after ?? null, why)];
  if (before === undefined) return [];
  if (after === undefined) return refused("must not update from a positive integer to nil value");
  return after > before ? refused("must be less than or equal to previous value") : [];
}

function addedGates({ schedulingGates = [] }: PodSpec, old: PodSpec): readonly StatusCause[] {
  const before = new Set(old.schedulingGates?.map(({ name }) => name));
  return schedulingGates.flatMap(({ name }, index) =>
    before.has(name)
      ? []
      : [
          forbidden(
            `spec.schedulingGates[${index}].name`,
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  );
}

/**
 * The immutable part of a spec. Binding a Pod, which is a subresource on an API server, is a change from an empty
 * nodeName here.
 */
function fixed(spec: PodSpec, old: PodSpec): object {
  const { activeDeadlineSeconds: _deadline, containers, initContainers, ...rest } = spec;
  // Scheduling gates may be removed. Whether some were added is checked apart.
  const { tolerations, schedulingGates: _gates, ...kept } = rest as typeof rest & { readonly tolerations?: unknown };
  return {
    ...kept,
    nodeName: old.nodeName ? spec.nodeName : undefined,
    keepsTolerations: keepsAll(tolerations, old),
    containers: containers.map(withoutImage),
    initContainers: (initContainers ?? []).map(withoutImage),
  };
}

function keepsAll(tolerations: unknown, old: PodSpec): boolean {
  const before = isJsonObject(old) && Array.isArray(old["tolerations"]) ? old["tolerations"] : [];
  const after = new Set((Array.isArray(tolerations) ? tolerations : []).map(canonicalJson));
  return before.every((toleration) => after.has(canonicalJson(toleration)));
}

function withoutImage({ image: _image, ...container }: Container): object {
  return container;
}
