import type { KubeObject, StatusCause, Stored } from "../../api/kinds/meta.ts";
import { ownField } from "../../lib/data/own-fields.ts";
import { isJsonObject } from "../json-values.ts";
import type { ServedKind } from "../served-kind.ts";
import { invalid } from "../status-errors.ts";

type ScalePaths = NonNullable<ServedKind["scale"]>;

/** An object as an `autoscaling/v1` Scale, for `kubectl scale`. */
export function scaleOf(
  object: Stored<KubeObject>,
  { specReplicasPath, statusReplicasPath, labelSelectorPath }: ScalePaths,
) {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = labelSelectorPath === undefined ? undefined : at(object, labelSelectorPath);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, ...(namespace && { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { replicas: Number(at(object, specReplicasPath) ?? 0) },
    status: {
      replicas: Number(at(object, statusReplicasPath) ?? 0),
      ...(typeof selector === "string" && selector !== "" && { selector }),
    },
  };
}

/**
 * The object with the replicas and the version of a Scale.
 *
 * @throws StatusError 422 for an invalid number.
 */
export function withScale(kind: ServedKind, object: KubeObject, scale: KubeObject, paths: ScalePaths): KubeObject {
  const replicas = at(scale, ".spec.replicas") ?? 0;
  if (typeof replicas !== "number" || !Number.isInteger(replicas) || replicas < 0) {
    throw invalid(kind.type, object.metadata.name ?? "", [negative(replicas)]);
  }
  const { name = "", resourceVersion = object.metadata.resourceVersion } = scale.metadata;
  const metadata = { ...object.metadata, name, ...(resourceVersion && { resourceVersion }) };
  return { ...(withValue(object, stepsOf(paths.specReplicasPath), replicas) as KubeObject), metadata };
}

const negative = (replicas: unknown): StatusCause => ({
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(replicas)}: must be greater than or equal to 0`,
  field: "spec.replicas",
});

/**
 * Faults in the replicas of an object's spec and status. API servers require a non-negative int32 for both, whatever
 * the schema says (`ValidateCustomResource` with a scale in apiextensions-apiserver).
 */
export function scaleCauses(object: KubeObject, paths: ScalePaths): readonly StatusCause[] {
  return [paths.specReplicasPath, paths.statusReplicasPath].flatMap((field): readonly StatusCause[] => {
    const replicas = at(object, field);
    const why = replicas === undefined ? undefined : replicasComplaint(field, replicas);
    return why === undefined ? [] : [{ reason: "FieldValueInvalid", message: `Invalid value: ${why}`, field }];
  });
}

const replicasMax = 2 ** 31 - 1;

function replicasComplaint(field: string, replicas: unknown): string | undefined {
  if (!Number.isInteger(replicas)) {
    return `0: ${field} accessor error: ${JSON.stringify(replicas)} is of the type ${typeof replicas}, expected int64`;
  }
  if (Number(replicas) < 0) return `${replicas}: should be a non-negative integer`;
  return Number(replicas) > replicasMax ? `${replicas}: should be less than or equal to ${replicasMax}` : undefined;
}

const stepsOf = (path: string): readonly string[] => path.split(".").filter((step) => step !== "");

function at(object: KubeObject, path: string): unknown {
  return stepsOf(path).reduce<unknown>(
    (value, step) => (isJsonObject(value) ? ownField(value, step) : undefined),
    object,
  );
}

function withValue(target: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const object = isJsonObject(target) ? target : {};
  return { ...object, [step]: withValue(ownField(object, step), rest, value) };
}
