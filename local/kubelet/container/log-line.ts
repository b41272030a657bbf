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

/** What comes before the text of an entry, in the format that container runtimes share (CRI): `TIME STREAM F|P TEXT`. */
export const entryStart = ({ time, stream, partial }: Omit<LogLine, "text">): string =>
  `${time} ${stream} ${partial ? "P" : "F"} `;

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
