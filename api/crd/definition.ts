import type { CustomResourceDefinition } from "../kinds/core.ts";
import type { JsonSchema, ValidationRule } from "./json-schema.ts";
import { keptByInstallers } from "./kept-by-installers.ts";
import { described, object, text } from "./shapes.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  /** 0, or absent, is always shown; 1 only with `-o wide`. */
  readonly priority?: number;
}

export interface ScaleSubresource {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath: string;
}

/** A field that field selectors may name, from Kubernetes 1.31 on. */
export interface SelectableField {
  readonly jsonPath: string;
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: true;
  readonly deprecationWarning?: string;
  readonly schema: { readonly openAPIV3Schema: JsonSchema };
  readonly subresources?: { readonly status: Readonly<Record<string, never>>; readonly scale?: ScaleSubresource };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly SelectableField[];
}

/** A definition as in its manifest. */
export interface Definition extends CustomResourceDefinition {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: Omit<NonNullable<CustomResourceDefinition["spec"]>, "versions"> & {
    readonly conversion: Readonly<Record<string, unknown>>;
    readonly versions: readonly DefinitionVersion[];
  };
}

/** One version of a kind, without the parts that all versions of all kinds share. */
export interface VersionParts {
  readonly spec: JsonSchema;
  /** Absent: the kind has no status, and no status subresource. */
  readonly status?: JsonSchema;
  readonly scale?: ScaleSubresource;
  readonly columns?: readonly PrinterColumn[];
  /** Rules of the root object: only they can read the name. */
  readonly rules?: readonly ValidationRule[];
  readonly selectableFields?: readonly SelectableField[];
}

export interface KindParts {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  readonly v1beta1: VersionParts;
  readonly v1alpha1: VersionParts;
}

export interface SingleVersionParts extends Omit<KindParts, "v1beta1" | "v1alpha1"> {
  readonly version: string;
  readonly parts: VersionParts;
}

export const ageColumn: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

export const readyColumn: PrinterColumn = {
  name: "Ready",
  type: "string",
  jsonPath: ".status.conditions[?(@.type=='Ready')].status",
};

export const reasonColumn: PrinterColumn = {
  name: "Reason",
  type: "string",
  jsonPath: ".status.conditions[?(@.type=='Ready')].reason",
};

export const scaleSubresource: ScaleSubresource = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.selector",
};

// Service, namespace and path are those of existing installations. The controller sets the CA bundle.
const conversion = {
  strategy: "Webhook",
  webhook: {
    clientConfig: {
      service: { name: "agent-sandbox-webhook-service", namespace: "agent-sandbox-system", path: "/convert" },
    },
    conversionReviewVersions: ["v1", "v1beta1"],
  },
};

/** The whole definition of a kind: `v1beta1` is stored, `v1alpha1` is served with a warning. */
export function definition(parts: KindParts): Definition {
  const { group, kind } = parts;
  return withVersions(parts, conversion, [
    { name: "v1beta1", served: true, storage: true, ...versionBody(parts.description, parts.v1beta1) },
    {
      name: "v1alpha1",
      served: true,
      storage: false,
      deprecated: true,
      deprecationWarning: `${group}/v1alpha1 ${kind} is deprecated; use ${group}/v1beta1 ${kind} instead`,
      ...versionBody(parts.description, parts.v1alpha1),
    },
  ]);
}

/** The whole definition of a kind that has one version, and so no conversion. */
export const singleVersionDefinition = (parts: SingleVersionParts): Definition =>
  withVersions(parts, { strategy: "None" }, [
    { name: parts.version, served: true, storage: true, ...versionBody(parts.description, parts.parts) },
  ]);

function withVersions(
  { group, kind, plural, shortName }: Pick<KindParts, "group" | "kind" | "plural" | "shortName">,
  conversion: Definition["spec"]["conversion"],
  versions: readonly DefinitionVersion[],
): Definition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations: keptByInstallers },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames: [shortName] },
      scope: "Namespaced",
      conversion,
      versions,
    },
  };
}

function versionBody(description: string, parts: VersionParts) {
  const { spec, status, scale, columns, rules, selectableFields } = parts;
  const root = object({
    apiVersion: described("The API group and version of the object are written here.", text),
    kind: described("The object has this kind.", text),
    metadata: { type: "object" },
    "spec*": spec,
    ...(status && { status }),
  });
  return {
    schema: {
      openAPIV3Schema: { ...described(description, root), ...(rules && { "x-kubernetes-validations": rules }) },
    },
    ...(status && { subresources: { status: {}, ...(scale && { scale }) } }),
    ...(columns && { additionalPrinterColumns: columns }),
    ...(selectableFields && { selectableFields }),
  };
}
