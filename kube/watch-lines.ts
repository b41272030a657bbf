import type { KubeObject } from "../api/meta.ts";
import type { WatchEvent } from "./client.ts";
import { ApiUnreachable } from "./errors.ts";

/** No object that an API server stores is larger than a few MiB; a line that never ends must not fill the memory. */
const lineBytesMax = 64 * 1024 * 1024;

/**
 * Cuts the body of a watch into events, wherever the bytes were split on the way.
 *
 * @throws ApiUnreachable for a line that is no event, is too long, or was cut off by the end of the stream.
 */
export async function* parseWatch<T extends KubeObject>(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax = lineBytesMax,
): AsyncGenerator<WatchEvent<T>, void> {
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    // Bytes, not text: a line feed is never part of another character in UTF-8, but a character may be split.
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      begun.push(chunk.subarray(from, at));
      yield parseEvent<T>(begun);
      begun = [];
      begunBytes = 0;
      from = at + 1;
    }
    begun.push(chunk.subarray(from));
    begunBytes += chunk.length - from;
    if (begunBytes > bytesMax) throw new ApiUnreachable(`a watch sent a line of more than ${bytesMax} bytes`);
  }
  if (begunBytes > 0) throw new ApiUnreachable("a watch ended in the middle of a line");
}

const eventTypes: ReadonlySet<unknown> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]);

function parseEvent<T extends KubeObject>(parts: readonly Uint8Array[]): WatchEvent<T> {
  let event: unknown;
  try {
    event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts)));
  } catch (cause) {
    throw new ApiUnreachable("a watch sent a line that does not parse", { cause });
  }
  if (!isEvent<T>(event)) throw new ApiUnreachable("a watch sent a line that is no event");
  return event;
}

// The object inside is the server's word for its own type, like every other answer.
const isEvent = <T extends KubeObject>(value: unknown): value is WatchEvent<T> =>
  typeof value === "object" &&
  value !== null &&
  "type" in value &&
  eventTypes.has(value.type) &&
  "object" in value &&
  typeof value.object === "object" &&
  value.object !== null;
