export interface Advice {
  /** The cause, for a reader of a log or of an error response. */
  readonly why: string;
  /** The remedy. */
  readonly what: string;
}

/**
 * The text about a code.
 *
 * @throws Error if there is none. The type checker finds that too, but the pages are generated without it.
 */
export function adviceOn(code: string, texts: { readonly [code: string]: Advice | undefined }, file: string): Advice {
  const advice = texts[code];
  if (advice === undefined)
    throw new Error(`scripts/reference/${file} has no text about ${code}: add its why and what`);
  return advice;
}
