import { bool, described, mapOf, text } from "../../../api/crd/shapes.ts";
import { type ConfigMap, configMapType, type Secret, secretType } from "../../../api/kinds/core.ts";
import type { KubeObject, StatusCause } from "../../../api/kinds/meta.ts";
import { isJsonObject, nullAsText, sameJson } from "../../json-values.ts";
import type { Admission } from "../../served-kind.ts";
import { dataKey } from "../metadata/names.ts";
import { kindSchema } from "../metadata/schema.ts";
import { forbidden, invalid } from "../schema/causes.ts";
import { base64 } from "../schema/shapes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn } from "./columns.ts";

const immutable = described("Whether the data is immutable.", bool);

export const configMapKind = builtinKind({
  type: configMapType,
  shortNames: ["cm"],
  schema: kindSchema("ConfigMap holds configuration data for Pods to use.", {
    data: described("Values as text.", mapOf(text)),
    binaryData: described("Values as base64.", mapOf(base64)),
    immutable,
  }),
  columns: [
    nameColumn,
    column<ConfigMap>("Data", ({ data, binaryData }) => count(data) + count(binaryData), "integer"),
    ageColumn,
  ],
  decode: withTexts,
  check: (object, admission) => [
    ...checkKeys("data", (object as ConfigMap).data),
    ...checkKeys("binaryData", (object as ConfigMap).binaryData),
    ...checkKeysTogether(object as ConfigMap),
    ...checkImmutable(object, admission, ["data", "binaryData"]),
  ],
});

export const secretKind = builtinKind({
  type: secretType,
  schema: kindSchema("Secret holds confidential data.", {
    data: described("Values as base64.", mapOf(base64)),
    stringData: described("Values as text, write-only: they are merged into data.", mapOf(text)),
    type: described("The type of the Secret, which determines its keys.", text),
    immutable,
  }),
  columns: [
    nameColumn,
    column<Secret>("Type", ({ type }) => type ?? ""),
    column<Secret>("Data", ({ data }) => count(data), "integer"),
    ageColumn,
  ],
  complete: withoutStringData,
  check: (object, admission) => [
    ...checkKeys("data", (object as Secret).data),
    ...checkSecretType(object, admission),
    ...checkImmutable(object, admission, ["data"]),
  ],
  selectableFields: (secret) => ({ type: (secret as Secret).type ?? "" }),
});

function withTexts(object: KubeObject): KubeObject {
  const { data } = object as { readonly data?: unknown };
  return isJsonObject(data) ? ({ ...object, data: nullAsText(data) } as KubeObject) : object;
}

function withoutStringData(object: KubeObject): KubeObject {
  const { stringData, ...secret } = object as Secret & { readonly stringData?: Readonly<Record<string, unknown>> };
  const encoded = Object.entries(stringData ?? {}).map(([key, text]) => [
    key,
    // Values that are not strings stay unchanged, and validation rejects them.
    typeof text === "string" ? Buffer.from(text).toString("base64") : text,
  ]);
  const data: Secret["data"] = { ...secret.data, ...Object.fromEntries(encoded) };
  return { ...secret, type: secret.type || "Opaque", ...(count(data) > 0 && { data }) } as Secret;
}

const count = (data: object | undefined): number => Object.keys(data ?? {}).length;

function checkKeys(field: string, data: object | undefined): readonly StatusCause[] {
  return Object.keys(data ?? {}).flatMap((key) =>
    dataKey(key).map((complaint) => invalid(`${field}[${key}]`, key, complaint)),
  );
}

function checkKeysTogether({ data = {}, binaryData = {} }: ConfigMap): readonly StatusCause[] {
  const twice = Object.keys(data).filter((key) => Object.hasOwn(binaryData, key));
  return twice.map((key) => invalid(`data[${key}]`, key, "duplicate of key present in binaryData"));
}

function checkSecretType(object: KubeObject, { old }: Admission): readonly StatusCause[] {
  const { type } = object as Secret;
  return old && (old as Secret).type !== type ? [invalid("type", type, "field is immutable")] : [];
}

function checkImmutable(object: KubeObject, { old }: Admission, fields: readonly string[]): readonly StatusCause[] {
  const before: Readonly<Record<string, unknown>> = { ...old };
  const after: Readonly<Record<string, unknown>> = { ...object };
  if (before["immutable"] !== true) return [];
  const detail = "field is immutable when `immutable` is set";
  return ["immutable", ...fields]
    .filter((field) => !sameJson(before[field], after[field]))
    .map((field) => forbidden(field, detail));
}
