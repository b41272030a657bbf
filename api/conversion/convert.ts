import { ownField } from "../../lib/data/own-fields.ts";
import type { KubeObject } from "../kinds/meta.ts";
import { agentsGroup, extensionsGroup } from "../kinds/sandbox.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { withAnnotations } from "./annotations.ts";
import { ConversionError } from "./conversion-error.ts";
import { isFields } from "./fields.ts";
import { sandboxToV1alpha1, sandboxToV1beta1 } from "./sandbox.ts";
import { claimToV1alpha1, claimToV1beta1 } from "./sandbox-claim.ts";
import { templateToV1alpha1, templateToV1beta1 } from "./sandbox-template.ts";
import { poolToV1alpha1, poolToV1beta1 } from "./sandbox-warm-pool.ts";

/** A kind with both versions, and their conversions. */
export interface ConvertibleKind {
  readonly group: string;
  readonly kind: string;
  /** Data that cannot be parsed or does not fit counts as absent and is added to `ignored`. */
  readonly toV1beta1: (object: KubeObject, ignored: string[]) => KubeObject;
  /** Like toV1beta1, in the other direction. */
  readonly toV1alpha1: (object: KubeObject, ignored: string[]) => KubeObject;
}

/** The kinds of all definitions: an API server asks for each that is installed, also where no controller reconciles it. */
export const allKinds: readonly ConvertibleKind[] = [
  { group: agentsGroup, kind: "Sandbox", toV1beta1: sandboxToV1beta1, toV1alpha1: sandboxToV1alpha1 },
  { group: extensionsGroup, kind: "SandboxClaim", toV1beta1: claimToV1beta1, toV1alpha1: claimToV1alpha1 },
  { group: extensionsGroup, kind: "SandboxTemplate", toV1beta1: templateToV1beta1, toV1alpha1: templateToV1alpha1 },
  { group: extensionsGroup, kind: "SandboxWarmPool", toV1beta1: poolToV1beta1, toV1alpha1: poolToV1alpha1 },
];

/**
 * An object in another version of its kind. The object is not modified; the result shares unchanged parts with it. An
 * object that already has the version is returned unchanged. Data that cannot be parsed or does not fit counts as
 * absent and is added to `ignored`, with the object's name.
 *
 * It never fails for an object that an API server has stored, and the server accepts the result: a rejected object
 * would fail every list of all clients.
 *
 * @throws ConversionError for an object that no API server has stored; the message names it and the fault.
 */
export function convert(
  object: unknown,
  toApiVersion: string,
  kinds: readonly ConvertibleKind[] = allKinds,
  ignored: string[] = [],
): KubeObject {
  if (!isObject(object)) throw new ConversionError("MalformedObject", "not an object of the Kubernetes API");
  const { apiVersion = "" } = object;
  const kind = kinds.find((known) => known.kind === object.kind && apiVersion.startsWith(`${known.group}/`));
  if (!kind) throw new ConversionError("UnknownKind", `${apiVersion} ${object.kind} is not converted by this webhook`);
  const convertFrom = conversionTo(kind, apiVersion, toApiVersion);
  if (apiVersion === toApiVersion) return object;
  refuseMalformed(object);
  const ignoredHere: string[] = [];
  const converted = { ...convertFrom(object, ignoredHere), apiVersion: toApiVersion };
  for (const what of ignoredHere) ignored.push(`${about(object)}: ${what}`);
  return converted;
}

/**
 * The JSON text of an object in another version of its kind, as `convert` returns it. One object must not fail its
 * list: if it can be converted or written only without the state of its other version, the state is left out and added
 * to `ignored`.
 *
 * @throws ConversionError with the object's name if that does not help either.
 */
export function convertToText(
  object: unknown,
  toApiVersion: string,
  kinds: readonly ConvertibleKind[],
  ignored: string[],
): string {
  try {
    return JSON.stringify(convert(object, toApiVersion, kinds, ignored));
  } catch (error) {
    if (error instanceof ConversionError || !isObject(object)) throw error;
    return convertWithoutState(object, toApiVersion, kinds, ignored);
  }
}

const stateKeys: Readonly<Record<string, string>> = v1alpha1StateAnnotations;

function convertWithoutState(
  object: KubeObject,
  toApiVersion: string,
  kinds: readonly ConvertibleKind[],
  ignored: string[],
): string {
  const key = ownField(stateKeys, object.kind ?? "") ?? "";
  try {
    const text = JSON.stringify(convert(withAnnotations(object, { [key]: undefined }), toApiVersion, kinds, ignored));
    ignored.push(`${about(object)}: annotation ${key} is left out: the object cannot be converted with it`);
    return text;
  } catch (error) {
    if (error instanceof ConversionError) throw error;
    throw new ConversionError("MalformedObject", `${about(object)}: cannot be converted: ${messageOf(error)}`);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

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

/** Rejects fields of the wrong type, which no server accepts; any field may be absent. */
function refuseMalformed(object: KubeObject & { readonly spec?: unknown; readonly status?: unknown }): void {
  const wrong = (["spec", "status"] as const).find((part) => !isFields(object[part] ?? {}));
  if (wrong) throw new ConversionError("MalformedObject", `${about(object)}: ${wrong} is not an object`);
}

const isObject = (value: unknown): value is KubeObject =>
  isFields(value) && isFields(value["metadata"]) && typeof value["apiVersion"] === "string";

function about({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name ?? ""}`;
}
