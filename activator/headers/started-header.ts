import type { HeaderPair } from "../request.ts";

/** In lower case. Only the activator writes it. */
export const startedHeader = "x-rouse-started";

/** What a client learns about the memory of its sandbox. */
export interface Started {
  /** `anew`: the memory is lost that was to be kept. Absent: the request did not wait for a Pod, or no memory was to be kept. */
  readonly started?: "anew" | undefined;
}

/** The fields that a response gets because of it, for clients of HTTP/2. */
export const startedFields = ({ started }: Started): readonly HeaderPair[] =>
  started === undefined ? [] : [[startedHeader, started]];

/** The same as a line of HTTP/1.1. */
export const startedLine = ({ started }: Started): string =>
  started === undefined ? "" : `X-Rouse-Started: ${started}\r\n`;
