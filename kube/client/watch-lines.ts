import type { KubeObject } from "../../api/kinds/meta.ts";
import { parseWithLongIntegers } from "../../lib/data/exact-json.ts";
import type { WatchEvent } from "./client.ts";
import { ApiUnreachable } from "./errors.ts";

/** No object of an API server is larger than a few MiB. A line without an end must not fill the memory. */
const lineBytesMax = 64 * 1024 * 1024;

/**
 * Splits the body of a watch into events, independent of the chunks.
 *
 * @throws ApiUnreachable for a line that is malformed, too long, or truncated by the end of the stream.
 */
export async function* parseWatch<T extends KubeObject>(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax = lineBytesMax,
): AsyncGenerator<WatchEvent<T>, void> {
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    // Bytes, not text: in UTF-8 a line feed is never part of another character, but a chunk may split a character.
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
    event = parseWithLongIntegers(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts)));
  } catch (cause) {
    throw new ApiUnreachable("a watch sent a line that does not parse", { cause });
  }
  if (!isEvent<T>(event)) throw new ApiUnreachable("a watch sent a line that is not an event");
  return event;
}

// As in every response, the object is assumed to have the requested type.
const isEvent = <T extends KubeObject>(value: unknown): value is WatchEvent<T> =>
  typeof value === "object" &&
  value !== null &&
  "type" in value &&
  eventTypes.has(value.type) &&
  "object" in value &&
  typeof value.object === "object" &&
  value.object !== null;
