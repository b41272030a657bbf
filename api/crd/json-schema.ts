/** A validation rule in CEL, which the API server evaluates on a write. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  /** `oldSelf` is an optional value, and the rule also applies to creation. */
  readonly optionalOldSelf?: boolean;
}

/** The subset of structural OpenAPI v3 schemas that our definitions and those of the built-in kinds use. */
export interface JsonSchema {
  readonly type?: "object" | "array" | "string" | "boolean" | "integer" | "number";
  readonly format?: "int32" | "int64" | "date-time" | "byte";
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic";
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}
