import type { KubeObject, StatusCause, Stored } from "../../api/meta.ts";
import { isJsonObject } from "./json-values.ts";
import type { ServedKind } from "./served-kind.ts";
import { invalid } from "./status-errors.ts";

type ScalePaths = NonNullable<ServedKind["scale"]>;

/** An object as `autoscaling/v1` Scale: what `kubectl scale` reads and writes. */
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
 * The object with the replicas and the version that a Scale asks for.
 *
 * @throws StatusError 422 when the number makes no sense.
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

const stepsOf = (path: string): readonly string[] => path.split(".").filter((step) => step !== "");

function at(object: KubeObject, path: string): unknown {
  return stepsOf(path).reduce<unknown>((value, step) => (isJsonObject(value) ? value[step] : undefined), object);
}

function withValue(target: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const object = isJsonObject(target) ? target : {};
  return { ...object, [step]: withValue(object[step], rest, value) };
}
