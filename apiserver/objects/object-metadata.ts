import type { KubeObject, ObjectMeta, OwnerReference, StatusCause } from "../../api/kinds/meta.ts";
import { annotationBytes, annotationBytesMax } from "../../api/rules/annotation-limit.ts";

const invalidValue = (field: string, value: unknown, why: string): StatusCause => ({
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  field,
});
const requiredValue = (field: string, why = ""): StatusCause => ({
  reason: "FieldValueRequired",
  message: why === "" ? "Required value" : `Required value: ${why}`,
  field,
});
const forbiddenValue = (field: string, why: string): StatusCause => ({
  reason: "FieldValueForbidden",
  message: `Forbidden: ${why}`,
  field,
});

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const subdomainHelp =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const namePartHelp =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const labelValueHelp =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** A client may also send null, which kube-apiserver reads as an owner without fields. */
type Owner = Partial<OwnerReference>;

/** Faults in the metadata of an object of any kind, by the rules and in the words of kube-apiserver. */
export function metadataCauses({ metadata }: KubeObject, current?: KubeObject): readonly StatusCause[] {
  const owners = (metadata.ownerReferences ?? []).map((owner: Owner | null) => owner ?? {});
  return [
    ...nameCauses(metadata),
    ...Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => labelCauses(key, value)),
    ...annotationCauses(metadata.annotations ?? {}),
    ...owners.flatMap(ownerCauses),
    ...ownersTogetherCauses(owners),
    ...(metadata.finalizers ?? []).flatMap((finalizer) => keyCauses("metadata.finalizers", String(finalizer))),
    ...finalizerCauses(metadata, current?.metadata),
  ];
}

function nameCauses({ name, generateName }: ObjectMeta): readonly StatusCause[] {
  if (!name) return [requiredValue("metadata.name", generateName ? "" : "name or generateName is required")];
  if (name.length > 253) return [invalidValue("metadata.name", name, "must be no more than 253 characters")];
  return subdomain.test(name) ? [] : [invalidValue("metadata.name", name, subdomainHelp)];
}

function keyCauses(field: string, key: string): readonly StatusCause[] {
  const slash = key.indexOf("/");
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && (!subdomain.test(prefix) || prefix.length > 253)) {
    return [invalidValue(field, key, `prefix part ${subdomainHelp}`)];
  }
  if (name.length > 63) return [invalidValue(field, key, "name part must be no more than 63 characters")];
  return namePart.test(name) ? [] : [invalidValue(field, key, namePartHelp)];
}

function labelCauses(key: string, value: unknown): readonly StatusCause[] {
  const causes = keyCauses("metadata.labels", key);
  if (typeof value !== "string") return [...causes, invalidValue("metadata.labels", value, "must be a string")];
  if (value.length > 63)
    return [...causes, invalidValue("metadata.labels", value, "must be no more than 63 characters")];
  return labelValue.test(value) ? causes : [...causes, invalidValue("metadata.labels", value, labelValueHelp)];
}

function annotationCauses(annotations: Readonly<Record<string, string>>): readonly StatusCause[] {
  const causes = Object.keys(annotations).flatMap((key) => keyCauses("metadata.annotations", key.toLowerCase()));
  if (annotationBytes(annotations) > annotationBytesMax) {
    const message = `Too long: may not be more than ${annotationBytesMax} bytes`;
    causes.push({ reason: "FieldValueTooLong", message, field: "metadata.annotations" });
  }
  return causes;
}

function ownerCauses(owner: Owner): readonly StatusCause[] {
  const field = "metadata.ownerReferences";
  const missing = (["apiVersion", "kind", "name", "uid"] as const).filter((part) => !owner[part]);
  return missing.map((part) =>
    invalidValue(
      `${field}.${part}`,
      owner[part] ?? "",
      part === "apiVersion" ? "version must not be empty" : "must not be empty",
    ),
  );
}

function ownersTogetherCauses(owners: readonly Owner[]): readonly StatusCause[] {
  const controllers = owners.filter(({ controller }) => controller === true);
  const [first, second] = controllers;
  if (!first || !second) return [];
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`;
  return [invalidValue("metadata.ownerReferences", owners, why)];
}

function finalizerCauses({ finalizers = [] }: ObjectMeta, current: ObjectMeta | undefined): readonly StatusCause[] {
  if (!current?.deletionTimestamp) return [];
  const known = new Set(current.finalizers);
  const added = finalizers.filter((finalizer) => !known.has(finalizer));
  if (added.length === 0) return [];
  const list = added.map((finalizer) => JSON.stringify(finalizer)).join(", ");
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [forbiddenValue("metadata.finalizers", why)];
}
