import type { KubeObject } from "../../api/kinds/meta.ts";
import { parseWithLongIntegers } from "../../lib/data/exact-json.ts";
import type { ClockReading } from "../../lib/time/clock-jumps.ts";
import type { WatchEvent, WatchReading } from "./client.ts";
import { ApiUnreachable } from "./errors.ts";
import { WatchQueue } from "./watch-queue.ts";
import type { WatchSlices } from "./watch-slices.ts";

/** No object of an API server is larger than a few MiB. A line without an end must not fill the memory. */
const lineBytesMax = 64 * 1024 * 1024;

export interface WatchParsing {
  /** In bytes; a longer line ends the watch. */
  readonly lineMax?: number;
  /** What may wait to be handled, in bytes; absent: as much as by default. */
  readonly queueMax?: number | undefined;
  /** Absent: events do not wait for their turn. */
  readonly slices?: WatchSlices | undefined;
  readonly reading?: WatchReading | undefined;
  /** Ends the response, of which a part may be awaited. Called when nothing more is needed. */
  readonly onLeave?: () => unknown;
}

/**
 * Splits the body of a watch into events, independent of the chunks. It is read at once, and its events are handled in slices. So an error,
 * or the end, comes after all events that arrived before it.
 *
 * @throws ApiUnreachable for a line that is malformed, too long, or truncated by the end of the stream.
 */
export async function* parseWatch<T extends KubeObject>(
  body: AsyncIterable<Uint8Array>,
  { lineMax = lineBytesMax, queueMax, slices, reading, onLeave }: WatchParsing = {},
): AsyncGenerator<WatchEvent<T>, void> {
  using leaving = new DisposableStack();
  if (onLeave) leaving.defer(onLeave);
  const queue = leaving.use(new WatchQueue(body, reading, queueMax));
  const line = new Line();
  for await (const { bytes, sentSince } of queue.parts()) {
    let from = 0;
    // Bytes, not text: in UTF-8 a line feed is never part of another character, but a chunk may split a character.
    for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, from)) {
      line.add(bytes.subarray(from, at), sentSince);
      while (slices?.isOver) await slices.rest();
      slices?.handles(line.length);
      yield line.take<T>();
      from = at + 1;
    }
    if (from < bytes.length) line.add(bytes.subarray(from), sentSince);
    if (line.length > lineMax) throw new ApiUnreachable(`a watch sent a line of more than ${lineMax} bytes`);
  }
  if (line.length > 0) throw new ApiUnreachable("a watch ended in the middle of a line");
}

/** The line that has begun. */
class Line {
  #parts: Uint8Array[] = [];
  #length = 0;
  #sentSince: ClockReading | undefined;

  get length(): number {
    return this.#length;
  }

  /** A line can have been sent as early as its first part. */
  add(part: Uint8Array, sentSince: ClockReading | undefined): void {
    if (this.#length === 0) this.#sentSince = sentSince;
    this.#parts.push(part);
    this.#length += part.length;
  }

  /** The event of the whole line. The next line begins. */
  take<T extends KubeObject>(): WatchEvent<T> {
    const event = parseEvent<T>(this.#parts);
    const sentSince = this.#sentSince;
    this.#parts = [];
    this.#length = 0;
    return sentSince ? { ...event, sentSince } : event;
  }
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
