/** JSON texts that JavaScript cannot write, such as 2^63 or 1.0, within values that it can. */
const mark = "json-text:";

/** A value that is written into a body exactly as `text`. */
export const jsonText = (text: string): string => mark + text;

/** The body of a request: `value`, with the given text of each `jsonText`. */
export const bodyText = (value: unknown): string =>
  JSON.stringify(value).replace(new RegExp(`"${mark}([^"]*)"`, "g"), (_, text: string) => text);
