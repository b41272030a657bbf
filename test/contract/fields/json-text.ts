/** JSON texts that JavaScript itself cannot write, such as 2^63 or 1.0, within values that it can. */
const mark = "json-text:";

/** A value that stands in a body exactly as `text`. */
export const jsonText = (text: string): string => mark + text;

/** The body of a request: `value`, with each `jsonText` as it was given. */
export const bodyText = (value: unknown): string =>
  JSON.stringify(value).replace(new RegExp(`"${mark}([^"]*)"`, "g"), (_, text: string) => text);
