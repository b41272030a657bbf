import type { KubeObject, StatusCause } from "../../api/meta.ts";
import type { ResourceType } from "../../api/resource-type.ts";

/**
 * An OpenAPI v3 schema as any custom resource definition may carry it; also what `explain` reads. `JsonSchema` is the part
 * that our own definitions are written in.
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

/** A rule in the Common Expression Language; one that names `oldSelf` is about updates only. */
export interface SchemaRule {
  readonly rule: string;
  readonly message?: string;
  /** `oldSelf` is an optional value, and the rule is run on creation too. */
  readonly optionalOldSelf?: boolean;
}

/** How a kind that is another spelling of a stored kind (events.k8s.io of core events) is translated. */
export interface View {
  /** The kind whose objects are stored; it is served as well. */
  readonly of: ResourceType;
  readonly toStored: (object: KubeObject) => KubeObject;
  readonly fromStored: (object: KubeObject) => KubeObject;
}

/** A column of a table answer, as custom resource definitions spell it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0 is always shown; anything above only by `-o wide`. */
  readonly priority?: number;
  /** The cell of one object; `now` is for ages. */
  readonly cell: (object: KubeObject, now: Date) => unknown;
}

export interface Admission {
  readonly operation: "create" | "update";
  readonly subresource: "status" | "scale" | undefined;
  /** What is stored now; absent on create. */
  readonly old: KubeObject | undefined;
  readonly now: Date;
}

/**
 * One kind that the API server in memory serves: everything that makes it different from other kinds. The rest of the
 * server (paths, versions, watches, patches, deletion) is the same for all.
 */
export interface ServedKind {
  readonly type: ResourceType;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /**
   * Present: nothing is stored under this type. Objects are written as `view.toStored` of what was prepared and validated,
   * and read and watched as `view.fromStored`, which also sets `apiVersion` and `kind`.
   */
  readonly view?: View;
  /** Present: every answer about this version carries it as a warning. */
  readonly deprecationWarning?: string;
  /** Present and true: its objects are there to be looked at. */
  readonly readOnly?: boolean;
  /** Whether writes to `/status` are separate from writes to the object. */
  readonly hasStatus: boolean;
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath?: string;
  };
  readonly columns: readonly Column[];
  readonly schema: OpenApiSchema;
  /** Built-in kinds take strategic merge patches; custom ones refuse them with 415. */
  readonly strategicMerge: boolean;
  /** Drops what the schema does not know and fills in defaults; `unknownFields` are the paths that it dropped. */
  readonly prepare: (
    object: KubeObject,
    admission: Admission,
  ) => { readonly object: KubeObject; readonly unknownFields: readonly string[] };
  /** What is wrong with an object that was prepared, as the causes of a 422; empty when it may be stored. */
  readonly validate: (object: KubeObject, admission: Admission) => readonly StatusCause[];
  /**
   * Told each object that is stored or removed and what was there before, and when a server starts, before the first
   * request, what is there: for what must not be given out twice.
   */
  readonly committed?: ((now: KubeObject | undefined, before: KubeObject | undefined) => void) | undefined;
  /** Values for field selectors beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: (object: KubeObject) => Readonly<Record<string, string>>;
  /** Seconds an object stays with a deletionTimestamp before its owner removes it; 0 removes it at once. */
  readonly graceSeconds: (object: KubeObject, requested: number | undefined) => number;
}
