import type { AnsweredRequest } from "../../activator/http1/parse/response-head-parser.ts";

/**
 * One stream of bytes and its expected result: `METHOD target <body>` or `status <body>` for each message, then the
 * name of the rejection, or `cut` if the stream ends within a message.
 */
export interface WireCase {
  readonly name: string;
  /** One character for each byte. */
  readonly wire: string;
  readonly saw: readonly string[];
  readonly answers?: AnsweredRequest;
}

type Row = readonly [name: string, wire: string, ...saw: string[]];

export function cases(rows: readonly Row[], answers?: AnsweredRequest): readonly WireCase[] {
  return rows.map(([name, wire, ...saw]) => ({ name, wire, saw, ...(answers && { answers }) }));
}

/** A request with these field lines after Host. */
export function withFields(fields: string, body = "", startLine = "POST / HTTP/1.1"): string {
  return `${startLine}\r\nHost: a\r\n${fields}\r\n\r\n${body}`;
}

export const nextRequest = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
