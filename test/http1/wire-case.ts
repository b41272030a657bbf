import type { AnsweredRequest } from "../../activator/http1/parse/response-head-parser.ts";

/**
 * One stream of bytes and what is read from it: `METHOD target <body>` or `status <body>` for each message, then the
 * name of the refusal, or `cut` when the stream stops inside a message.
 */
export interface WireCase {
  readonly name: string;
  /** One character per byte. */
  readonly wire: string;
  readonly saw: readonly string[];
  readonly answers?: AnsweredRequest;
}

type Row = readonly [name: string, wire: string, ...saw: string[]];

export function cases(rows: readonly Row[], answers?: AnsweredRequest): readonly WireCase[] {
  return rows.map(([name, wire, ...saw]) => ({ name, wire, saw, ...(answers && { answers }) }));
}

/** A request with these field lines after a Host. */
export function withFields(fields: string, body = "", startLine = "POST / HTTP/1.1"): string {
  return `${startLine}\r\nHost: a\r\n${fields}\r\n\r\n${body}`;
}

export const nextRequest = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
