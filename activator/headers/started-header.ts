import type { HeaderPair } from "../request.ts";

/** In lower case. Only the activator writes it. */
export const startedHeader = "x-rouse-started";

/** `restored`: the sandbox continues with its memory. `anew`: the memory that should have been kept is lost. */
export type StartedHow = "restored" | "anew";

/** What a client learns about the memory of its sandbox. */
export interface Started {
  /**
   * Is asked when the response begins, and returns undefined if it is not known yet. Absent: the request did not wait for a Pod, or no memory was
   * to be kept.
   */
  readonly started?: (() => StartedHow | undefined) | undefined;
}

/** The fields that a response gets because of it, for clients of HTTP/2. */
export function startedFields({ started }: Started): readonly HeaderPair[] {
  const how = started?.();
  return how === undefined ? [] : [[startedHeader, how]];
}
