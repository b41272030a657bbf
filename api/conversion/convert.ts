import type { KubeObject } from "../meta.ts";
import { agentsGroup, extensionsGroup } from "../sandbox.ts";
import { ConversionError } from "./conversion-error.ts";
import { isFields } from "./fields.ts";
import { sandboxToV1alpha1, sandboxToV1beta1 } from "./sandbox.ts";
import { claimToV1alpha1, claimToV1beta1 } from "./sandbox-claim.ts";
import { templateToV1alpha1, templateToV1beta1 } from "./sandbox-template.ts";
import { poolToV1alpha1, poolToV1beta1 } from "./sandbox-warm-pool.ts";

/** A kind that has both versions, and the way between them. */
export interface ConvertibleKind {
  readonly group: string;
  readonly kind: string;
  readonly toV1beta1: (object: KubeObject) => KubeObject;
  /** What could not be read, and was taken for absent, is added to `ignored`. */
  readonly toV1alpha1: (object: KubeObject, ignored: string[]) => KubeObject;
}

/** The kind that is there even where the extensions are not. */
export const coreKinds: readonly ConvertibleKind[] = [
  { group: agentsGroup, kind: "Sandbox", toV1beta1: sandboxToV1beta1, toV1alpha1: sandboxToV1alpha1 },
];

export const allKinds: readonly ConvertibleKind[] = [
  ...coreKinds,
  { group: extensionsGroup, kind: "SandboxClaim", toV1beta1: claimToV1beta1, toV1alpha1: claimToV1alpha1 },
  { group: extensionsGroup, kind: "SandboxTemplate", toV1beta1: templateToV1beta1, toV1alpha1: templateToV1alpha1 },
  { group: extensionsGroup, kind: "SandboxWarmPool", toV1beta1: poolToV1beta1, toV1alpha1: poolToV1alpha1 },
];

/**
 * An object in another version of its kind. Neither the object nor anything in it is changed; the result shares with it
 * what is the same in both. An object that already has the version is returned as it is. What could not be read, and was
 * taken for absent, is added to `ignored`, by the object's name.
 *
 * @throws ConversionError that says what is wrong with the object, by its name.
 */
export function convert(
  object: unknown,
  toApiVersion: string,
  kinds: readonly ConvertibleKind[] = allKinds,
  ignored: string[] = [],
): KubeObject {
  if (!isObject(object)) throw new ConversionError("MalformedObject", "this is no object of the Kubernetes API");
  const { apiVersion = "" } = object;
  const kind = kinds.find((known) => known.kind === object.kind && apiVersion.startsWith(`${known.group}/`));
  if (!kind) throw new ConversionError("UnknownKind", `${apiVersion} ${object.kind} is not converted here`);
  const convertFrom = conversionTo(kind, apiVersion, toApiVersion);
  if (apiVersion === toApiVersion) return object;
  refuseMalformed(object);
  const ignoredHere: string[] = [];
  try {
    const converted = { ...convertFrom(object, ignoredHere), apiVersion: toApiVersion };
    ignored.push(...ignoredHere.map((what) => `${about(object)}: ${what}`));
    return converted;
  } catch (error) {
    throw error instanceof ConversionError
      ? new ConversionError(error.failure, `${about(object)}: ${error.message}`)
      : error;
  }
}

function conversionTo({ group, kind, ...ways }: ConvertibleKind, from: string, to: string) {
  const byVersion = new Map([
    [`${group}/v1beta1`, ways.toV1beta1],
    [`${group}/v1alpha1`, ways.toV1alpha1],
  ]);
  const way = byVersion.get(to);
  const unknown = byVersion.has(from) ? to : from;
  if (way && byVersion.has(from)) return way;
  throw new ConversionError("UnknownVersion", `${kind} has no version ${JSON.stringify(unknown)}`);
}

/** Fields of the wrong kind are what no server lets through; whatever is missing may be missing. */
function refuseMalformed(object: KubeObject & { readonly spec?: unknown; readonly status?: unknown }): void {
  const wrong = (["spec", "status"] as const).find((part) => !isFields(object[part] ?? {}));
  if (wrong) throw new ConversionError("MalformedObject", `${about(object)}: ${wrong} is not an object`);
}

const isObject = (value: unknown): value is KubeObject =>
  isFields(value) && isFields(value["metadata"]) && typeof value["apiVersion"] === "string";

function about({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name ?? ""}`;
}
