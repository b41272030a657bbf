import { entryStart, type LogStream, longestLineBytes } from "./log-line.ts";

const lineEnd = 0x0a;

/** The position, or the start of the UTF-8 character that lies across it (RFC 3629: at most 3 continuation bytes). */
function characterStart(bytes: Buffer, position: number): number {
  for (let at = position; at > position - 4; at -= 1) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  return position;
}

/** The parts of a text: where each ends, and whether a line end is there, which belongs to no entry. */
interface Cut {
  readonly end: number;
  readonly isPartial: boolean;
}

/**
 * Makes the entries of a log from the output of one stream, in bytes: a text for each line would take ten times as long. It keeps the start
 * of the unfinished line.
 */
export class EntryCutter {
  readonly #stream: LogStream;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  /** The entries of all whole lines, in one buffer. Longer lines than `longestLineBytes` have several entries. */
  cut(chunk: Buffer, time: string): Buffer {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const cuts = cutsOf(bytes);
    const last = cuts.at(-1);
    // A copy: the chunk is memory of the stream.
    this.#rest = Buffer.from(bytes.subarray(last ? nextStart(last) : 0));
    return this.#entries(bytes, cuts, time);
  }

  /** The rest of a stream that ends without a line end. */
  end(time: string): Buffer {
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    return rest.length === 0 ? rest : this.#entries(rest, [{ end: rest.length, isPartial: true }], time);
  }

  #entries(bytes: Buffer, cuts: readonly Cut[], time: string): Buffer {
    const line = { time, stream: this.#stream };
    const whole = Buffer.from(entryStart({ ...line, partial: false }));
    const partial = Buffer.from(entryStart({ ...line, partial: true }));
    const entries = Buffer.allocUnsafe(bytes.length + cuts.length * (whole.length + 1));
    let [from, at] = [0, 0];
    for (const cut of cuts) {
      entries.set(cut.isPartial ? partial : whole, at);
      at += whole.length;
      at += bytes.copy(entries, at, from, cut.end);
      entries[at] = lineEnd;
      at += 1;
      from = nextStart(cut);
    }
    return entries.subarray(0, at);
  }
}

const nextStart = ({ end, isPartial }: Cut): number => (isPartial ? end : end + 1);

function cutsOf(bytes: Buffer): readonly Cut[] {
  const cuts: Cut[] = [];
  for (let from = 0; ; ) {
    const found = bytes.indexOf(lineEnd, from);
    const isWhole = found >= 0 && found - from <= longestLineBytes;
    if (!isWhole && bytes.length - from <= longestLineBytes) return cuts;
    const cut = isWhole
      ? { end: found, isPartial: false }
      : { end: from + characterStart(bytes.subarray(from), longestLineBytes), isPartial: true };
    cuts.push(cut);
    from = nextStart(cut);
  }
}
