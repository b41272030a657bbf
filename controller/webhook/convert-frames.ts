// What the controller and a converting process send each other: to it a length of four bytes and a body, from it the lengths of a JSON
// text about the conversion and of the answer, four bytes each, and then both.

/** What conversions could not read, or had no room for, and took for absent. */
export interface Ignored {
  readonly count: number;
  /** What it was, by its object's name. */
  readonly first?: string | undefined;
}

/** What became of a body. */
export type Converted =
  | {
      readonly outcome: "answered";
      readonly ignored: Ignored;
      /** Why none of the objects were converted, by the name of the one that could not be. */
      readonly failure?: string | undefined;
    }
  /** It is no review, or too large; `code` is the HTTP status. */
  | { readonly outcome: "refused"; readonly code: 400 | 413; readonly message: string }
  /** A fault of ours. */
  | { readonly outcome: "failed"; readonly message: string };

/** Of one answer: several times the largest object, and what a body of the largest size has room for. */
export const answerBytesMax = 16 * 1024 * 1024;
/**
 * Opening brackets and commas of a review, which bound the number of its values: the memory for a review follows that number rather
 * than its bytes. An object that an API server stores has at most 1.5 MiB, and so at most 1,048,576 of them, as in `[{},{},{}]`.
 */
export const partsMax = 1_100_000;
/** The nesting of a review. Go's decoder takes no more (`encoding/json`), so an API server has none that is deeper. */
export const nestingMax = 10_000;
/** Characters of each text about a conversion. */
export const reportedTextMax = 1_000;
/** Of a body's frame. */
export const headBytes = 4;

/** The first part of a frame that answers. */
export function headOf(about: Converted, answerBytes: number): Buffer {
  const text = Buffer.from(JSON.stringify(about));
  const head = Buffer.alloc(8 + text.length);
  head.writeUInt32LE(text.length, 0);
  head.writeUInt32LE(answerBytes, 4);
  text.copy(head, 8);
  return head;
}

/** The content of a frame; undefined while it is incomplete. */
export function readFrame(frame: Buffer): { readonly about: Converted; readonly answer: Buffer } | undefined {
  if (frame.length < 8) return undefined;
  const answerAt = 8 + frame.readUInt32LE(0);
  if (frame.length < answerAt + frame.readUInt32LE(4)) return undefined;
  return { about: JSON.parse(frame.toString("utf8", 8, answerAt)) as Converted, answer: frame.subarray(answerAt) };
}
