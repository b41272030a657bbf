/** The stream of a line in a container's log. */
export type LogStream = "stdout" | "stderr";

export interface LogLine {
  /** RFC 3339 in UTC. */
  readonly time: string;
  readonly stream: LogStream;
  readonly text: string;
  /** Whether the line continues in the next entry. */
  readonly partial: boolean;
}

/** One entry of a log file, in the format that container runtimes share (CRI): `TIME STREAM F|P TEXT`. */
export function formatLogLine({ time, stream, partial, text }: LogLine): string {
  return `${time} ${stream} ${partial ? "P" : "F"} ${text}\n`;
}

/**
 * The parts of one entry without its line end; undefined for an invalid entry, such as the torn last line of a crash.
 */
export function parseLogLine(entry: string): LogLine | undefined {
  const match = /^(\S+) (stdout|stderr) ([FP]) (.*)$/s.exec(entry);
  if (!match) return undefined;
  const [, time = "", stream, tag, text = ""] = match;
  return { time, stream: stream as LogStream, partial: tag === "P", text };
}

/** Longer lines are split into parts, so that a program without line ends cannot fill memory. */
export const longestLineBytes = 16 * 1024;

/** The position, or the start of the UTF-8 character that lies across it (RFC 3629: at most 3 continuation bytes). */
function characterStart(bytes: Buffer, position: number): number {
  for (let at = position; at > position - 4; at -= 1) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  return position;
}

/** Cuts a stream of bytes into lines. It keeps the start of the unfinished line. */
export class LineCutter {
  #rest: Buffer = Buffer.alloc(0);

  cut(chunk: Buffer): readonly { readonly text: string; readonly partial: boolean }[] {
    const lines: { text: string; partial: boolean }[] = [];
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    for (;;) {
      const end = bytes.indexOf(0x0a);
      if (end >= 0 && end <= longestLineBytes) {
        lines.push({ text: bytes.toString("utf8", 0, end), partial: false });
        bytes = bytes.subarray(end + 1);
      } else if (bytes.length > longestLineBytes) {
        const at = characterStart(bytes, longestLineBytes);
        lines.push({ text: bytes.toString("utf8", 0, at), partial: true });
        bytes = bytes.subarray(at);
      } else break;
    }
    this.#rest = Buffer.from(bytes);
    return lines;
  }

  /** The rest of a stream that ends without a line end. */
  end(): readonly { readonly text: string; readonly partial: boolean }[] {
    if (this.#rest.length === 0) return [];
    const text = this.#rest.toString("utf8");
    this.#rest = Buffer.alloc(0);
    return [{ text, partial: true }];
  }
}
