/** The default limit of a head (`--max-header-bytes`), and the limit of all annotations of an object, in bytes. */
export const headBytes = 65_536;
export const annotationBytes = 262_144;

/**
 * The CPU time limit for one text, in microseconds. A reader in linear time takes a few
 * milliseconds; a reader in quadratic time takes seconds.
 */
const longestMicros = 100_000;

const units = [
  ...[" ", "\t", "1", ",", "a", "-", ".", ":", "=", ";", '"', "\\", "/", "_", "[", "{", "%", "\xa0", "T"],
  ...["a,", " ,", ", ", "a ", "1.", "1s", "1e", "--", ": ", '\\"', "a.", "a;", "q=1,", "1234567890123456 ", "chunked,"],
];
const beginnings = ["", "a", "1", "v1."];
const ends = ["", "!"];

/** An expression in exponential time takes at most sixteen times as long for each of these as for the one before. */
const fewCharacters = [20, 24, 28, 32, 36, 40, 44, 48];

interface Shapes {
  readonly units: readonly string[];
  readonly beginnings: readonly string[];
}

/** Texts of many shapes, up to the length. Short ones come first, so that a failure is reported within a second. */
export function* textsOf(longest: number, shapes: Shapes = { units, beginnings }): Generator<string> {
  for (const length of [...fewCharacters, longest >> 4, longest >> 1, longest]) {
    for (const unit of shapes.units) {
      for (const beginning of shapes.beginnings) {
        for (const end of ends) {
          const middle = length - beginning.length - end.length;
          yield beginning + unit.repeat(Math.max(0, Math.floor(middle / unit.length))) + end;
        }
      }
    }
  }
}

/** The beginning of the first text that exceeds the time limit of a reader three times. */
export function tooSlow(read: (text: string) => unknown, texts: Iterable<string>): string | undefined {
  for (const text of texts) {
    // A reader that is too slow is so each time. A collection of garbage or the compiler may delay it once.
    const isSlow = () => microsOf(read, text) > longestMicros;
    if (isSlow() && isSlow() && isSlow()) return `${JSON.stringify(text.slice(0, 40))}...`;
  }
  return undefined;
}

function microsOf(read: (text: string) => unknown, text: string): number {
  const before = process.threadCpuUsage();
  try {
    read(text);
  } catch {
    // Most texts are rejected.
  }
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}
