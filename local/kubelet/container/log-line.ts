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
