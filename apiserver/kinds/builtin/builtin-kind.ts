import type { KubeObject, StatusCause } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { Admission, Column, OpenApiSchema, ServedKind, View } from "../../served-kind.ts";
import type { NameRule } from "../metadata/names.ts";
import { invalid } from "../schema/causes.ts";
import { compileSchema } from "../schema/compile.ts";

/** The properties of one built-in kind. */
export interface BuiltinKind {
  readonly type: ResourceType;
  readonly schema: OpenApiSchema;
  readonly columns: readonly Column[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly hasStatus?: boolean;
  readonly readOnly?: boolean;
  readonly deletedOneByOne?: boolean;
  readonly view?: View;
  /** The rule for names, beyond DNS subdomains, which all kinds require. */
  readonly nameRule?: NameRule;
  /** What an API server reads in another way than it is written. */
  readonly decode?: (object: KubeObject) => KubeObject;
  /** Sets defaults that the schema cannot express. */
  readonly complete?: (object: KubeObject, admission: Admission) => KubeObject;
  /** Faults beyond the schema; called only when every value has its type. */
  readonly check?: (object: KubeObject, admission: Admission) => readonly StatusCause[];
  /** Called with the stored object and the replaced one; see `ServedKind`. */
  readonly committed?: ServedKind["committed"];
  readonly selectableFields?: (object: KubeObject) => Readonly<Record<string, string>>;
  readonly graceSeconds?: (object: KubeObject, requested: number | undefined) => number;
}

const none = () => ({});
const same = (object: KubeObject) => object;
const nothingWrong = () => [];
const isAboutType = ({ reason }: StatusCause) => reason === "FieldValueTypeInvalid";

export function builtinKind(kind: BuiltinKind): ServedKind {
  // API servers decode built-in kinds into types, and check duplicates by rules of their own.
  const schema = compileSchema(kind.schema, { listTypes: false });
  const { decode = same, complete = same, check = nothingWrong, nameRule = nothingWrong } = kind;
  return {
    type: kind.type,
    singular: kind.type.kind.toLowerCase(),
    listKind: `${kind.type.kind}List`,
    shortNames: kind.shortNames ?? [],
    categories: kind.categories ?? [],
    hasStatus: kind.hasStatus ?? false,
    ...(kind.readOnly && { readOnly: true }),
    ...(kind.deletedOneByOne && { deletedOneByOne: true }),
    ...(kind.view && { view: kind.view }),
    ...(kind.committed && { committed: kind.committed }),
    columns: kind.columns,
    schema: kind.schema,
    strategicMerge: true,
    prepare: (object, admission) => {
      const { value, unknownFields } = schema.prune(decode(object));
      const defaulted = schema.applyDefaults(value);
      // An object of the wrong shape is validated unchanged.
      const isShaped = !schema.validate(defaulted, undefined).some(isAboutType);
      return { object: isShaped ? complete(defaulted, admission) : defaulted, unknownFields };
    },
    validate: (object, admission) => {
      const name = object.metadata.name ?? "";
      const causes = [
        ...nameRule(name).map((complaint) => invalid("metadata.name", name, complaint)),
        ...schema.validate(object, admission.old),
      ];
      return causes.some(isAboutType) ? causes : [...causes, ...check(object, admission)];
    },
    selectableFields: kind.selectableFields ?? none,
    ...(kind.graceSeconds && { graceSeconds: kind.graceSeconds }),
  };
}
