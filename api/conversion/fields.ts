/** A JSON object with unknown fields. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field for a value with content: the API's types omit empty objects. */
export const filled = <K extends string, V extends object>(name: K, value: V): { readonly [key in K]?: V } =>
  Object.keys(value).length > 0 ? ({ [name]: value } as { [key in K]: V }) : {};
