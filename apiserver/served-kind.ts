import type { KubeObject, StatusCause } from "../api/kinds/meta.ts";
import type { ResourceType } from "../api/kinds/resource-type.ts";

/**
 * An OpenAPI v3 schema as in any custom resource definition, also for `explain`. `JsonSchema` is the subset of our own
 * definitions.
 */
export interface OpenApiSchema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly items?: OpenApiSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly anyOf?: readonly OpenApiSchema[];
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly SchemaRule[];
}

/** A rule in the Common Expression Language; a rule with `oldSelf` applies to updates only. */
export interface SchemaRule {
  readonly rule: string;
  readonly message?: string;
  /** `oldSelf` is an optional value, and the rule also applies to creation. */
  readonly optionalOldSelf?: boolean;
}

/** The translation of a kind that is another form of a stored kind (events.k8s.io of core events). */
export interface View {
  /** The kind whose objects are stored; it is served as well. */
  readonly of: ResourceType;
  readonly toStored: (object: KubeObject) => KubeObject;
  readonly fromStored: (object: KubeObject) => KubeObject;
}

/** A column of a table, as in a custom resource definition. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0 is always shown; higher priorities only with `-o wide`. */
  readonly priority?: number;
  /** The cell of one object; `now` is for ages. */
  readonly cell: (object: KubeObject, now: Date) => unknown;
}

export interface Admission {
  readonly operation: "create" | "update";
  readonly subresource: "status" | "scale" | undefined;
  /** The stored object; absent on create. */
  readonly old: KubeObject | undefined;
  readonly now: Date;
}

/**
 * One kind of the API server in memory, with all its special properties. The rest of the server (paths, versions,
 * watches, patches, deletion) is the same for all kinds.
 */
export interface ServedKind {
  readonly type: ResourceType;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /**
   * Present: nothing is stored under this type. After preparation and validation objects are stored as `view.toStored`,
   * and read and watched as `view.fromStored`, which also sets `apiVersion` and `kind`.
   */
  readonly view?: View;
  /** Present: every response with this version has it as a warning. */
  readonly deprecationWarning?: string;
  /** True: its objects cannot be written. */
  readonly readOnly?: boolean;
  /** True: its objects are deleted one by one, never as a collection. */
  readonly deletedOneByOne?: boolean;
  /** Whether writes to `/status` are separate from writes to the object. */
  readonly hasStatus: boolean;
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath?: string;
  };
  readonly columns: readonly Column[];
  readonly schema: OpenApiSchema;
  /** Built-in kinds accept strategic merge patches; custom ones reject them with 415. */
  readonly strategicMerge: boolean;
  /** Prunes unknown fields and sets defaults; `unknownFields` are the paths of the pruned ones. */
  readonly prepare: (
    object: KubeObject,
    admission: Admission,
  ) => { readonly object: KubeObject; readonly unknownFields: readonly string[] };
  /** The faults of a prepared object, as the causes of a 422; empty if it is valid. */
  readonly validate: (object: KubeObject, admission: Admission) => readonly StatusCause[];
  /**
   * Called with each stored or removed object and its predecessor, and at the start of a server, before the first
   * request, with each existing object: for values that must not be allocated twice.
   */
  readonly committed?: ((now: KubeObject | undefined, before: KubeObject | undefined) => void) | undefined;
  /** Values for field selectors beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: (object: KubeObject) => Readonly<Record<string, string>>;
  /** The seconds that an object keeps its deletionTimestamp before its owner removes it; 0 removes it at once. */
  readonly graceSeconds?: (object: KubeObject, requested: number | undefined) => number;
}
