import { type ImageKey, textOf } from "../store/image-key.ts";
import type { ImageSize } from "../store/image-sizes.ts";
import type { StoreLimits } from "./observed.ts";
import { shareOf } from "./refusal.ts";

/** What a capture has written. */
export interface Written {
  readonly key: ImageKey;
  readonly bytes: number;
  /** What it was expected to take. For that it has room. */
  readonly promisedBytes: number;
}

/** Where it is written. */
export interface Store {
  readonly sizes: readonly ImageSize[];
  /** What other captures in progress will take, by the text of an image's key. */
  readonly promises: ReadonlyMap<string, number>;
  readonly freeBytes: number;
  readonly limits: StoreLimits;
}

/** Which limit a capture has broken that has written more than it promised. Others keep the room that they were promised. */
export function excessOf(written: Written, store: Store): "StoreFull" | "NamespaceFull" | undefined {
  if (written.bytes <= written.promisedBytes) return undefined;
  const { freeBytes, limits, promises, sizes } = store;
  const own = textOf(written.key);
  const taken = new Map(sizes.map(({ bytes, key }) => [textOf(key), bytes]));
  taken.set(own, written.bytes);
  const onDiskBytes = sum(taken.values());
  for (const [text, bytes] of promises) {
    if (text !== own) taken.set(text, Math.max(bytes, taken.get(text) ?? 0));
  }
  if (limits.maxStoreBytes > 0 && sum(taken.values()) > limits.maxStoreBytes) return "StoreFull";
  const ofNamespace = [...taken].filter(([text]) => text.startsWith(`${written.key.namespace}/`));
  const shareBytes = shareOf(limits, onDiskBytes + freeBytes);
  return sum(ofNamespace.map(([, bytes]) => bytes)) > shareBytes ? "NamespaceFull" : undefined;
}

const sum = (all: Iterable<number>): number => [...all].reduce((total, bytes) => total + bytes, 0);
