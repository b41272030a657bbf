import type { Definition, DefinitionVersion, PrinterColumn } from "../../api/crd/definition.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { Column, OpenApiSchema, ServedKind } from "../served-kind.ts";
import { ageSince } from "./age.ts";
import { ageColumn, nameColumn } from "./builtin/columns.ts";
import { compileJsonPath } from "./json-path.ts";
import { objectMetaSchema } from "./metadata/schema.ts";
import { scaleCauses } from "./scale.ts";
import { compileSchema } from "./schema/compile.ts";

/** A custom kind validates every write by its schema alone. */
export interface CustomKind extends ServedKind {
  readonly prepare: (object: KubeObject) => ReturnType<ServedKind["prepare"]>;
}

/**
 * One version of a custom resource definition as a served kind.
 *
 * @throws Error when the definition does not have this version.
 */
export function customKind({ spec }: Definition, versionName: string): CustomKind {
  const version = spec.versions.find(({ name }) => name === versionName);
  if (!version) throw new Error(`${spec.names.plural}.${spec.group} has no version ${versionName}`);
  const { names } = spec;
  const schema = withMetadata(version.schema.openAPIV3Schema);
  const compiled = compileSchema(schema);
  const scale = version.subresources?.scale;
  return {
    type: {
      group: spec.group,
      version: versionName,
      kind: names.kind,
      plural: names.plural,
      namespaced: spec.scope === "Namespaced",
    },
    singular: names.singular ?? names.kind.toLowerCase(),
    listKind: names.listKind ?? `${names.kind}List`,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    ...(version.deprecationWarning !== undefined && { deprecationWarning: version.deprecationWarning }),
    hasStatus: version.subresources !== undefined,
    ...(scale && { scale }),
    columns: columnsOf(version),
    schema,
    strategicMerge: false,
    prepare: (object) => {
      const { value, unknownFields } = compiled.prune(object);
      return { object: compiled.applyDefaults(value), unknownFields };
    },
    validate: (object, { old }) => [...compiled.validate(object, old), ...(scale ? scaleCauses(object, scale) : [])],
    selectableFields: selectableOf(version),
  };
}

/** Definitions omit the metadata schema; the server adds it. */
function withMetadata(schema: OpenApiSchema): OpenApiSchema {
  return { ...schema, properties: { ...schema.properties, metadata: objectMetaSchema } };
}

/** A field that an object does not have is selected as the empty text. */
function selectableOf({ selectableFields = [] }: DefinitionVersion): ServedKind["selectableFields"] {
  const fields = selectableFields.map(({ jsonPath }) => ({
    name: jsonPath.slice(1),
    read: compileJsonPath(jsonPath),
  }));
  return (object) => Object.fromEntries(fields.map(({ name, read }) => [name, String(read(object) ?? "")]));
}

function columnsOf({ additionalPrinterColumns }: DefinitionVersion): readonly Column[] {
  return [nameColumn, ...(additionalPrinterColumns?.map(columnOf) ?? [ageColumn])];
}

function columnOf({ jsonPath, ...column }: PrinterColumn): Column {
  const read = compileJsonPath(jsonPath);
  return { ...column, priority: column.priority ?? 0, cell: cellOf(column.type, read) };
}

function cellOf(type: string, read: (object: KubeObject) => unknown): Column["cell"] {
  if (type !== "date") return (object) => read(object) ?? null;
  return (object, now) => {
    const timestamp = read(object);
    return typeof timestamp === "string" ? ageSince(timestamp, now) : null;
  };
}
