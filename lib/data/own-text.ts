/**
 * The same text in memory of its own. V8 makes a part of a string (`slice`, `split`, a group of a match) a reference to the
 * whole string, and a concatenation a reference to its parts. So a short name can keep 64 KiB of a request head.
 *
 * The rule: a text of a request that outlives the request is copied here before it enters a map, a cache or a span.
 */
export function ownText(text: string): string {
  // UTF-16 keeps every text, also a half of a pair. V8 stores the copy with one byte per character where that is enough.
  return Buffer.from(text, "utf16le").toString("utf16le");
}
