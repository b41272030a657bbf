import type { ServerHttp2Stream, ServerStreamResponseOptions } from "node:http2";
import { dropSentHead } from "../node-internals/sent-fields.ts";

/** Sends the head of a response without a date of Node's: the date is the sandbox's affair, as over HTTP/1.1. */
export function respondAsIs(stream: ServerHttp2Stream, fields: string[], options: ServerStreamResponseOptions): void {
  const undated: ServerStreamResponseOptions & { readonly sendDate: boolean } = { ...options, sendDate: false };
  stream.respond(fields, undated);
  dropSentHead(stream);
}
