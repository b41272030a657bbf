/** A JSON object of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field for a value that says something: objects without content are left out, as the API's types spell them. */
export const filled = <K extends string, V extends object>(name: K, value: V): { readonly [key in K]?: V } =>
  Object.keys(value).length > 0 ? ({ [name]: value } as { [key in K]: V }) : {};
