import type { ServerHttp2Stream } from "node:http2";
import { toResponse } from "../../failures/error-response.ts";
import type { ActivatorError } from "../../failures/errors-for-clients.ts";
import { AnswerTail } from "./answer-tail.ts";
import { respondAsIs } from "./respond-as-is.ts";
import type { StreamHost } from "./stream-host.ts";

/** Answers a stream without a readable request. */
export function refuseStream(
  stream: ServerHttp2Stream,
  error: ActivatorError,
  { host, isHead }: { readonly host: StreamHost; readonly isHead: boolean },
): void {
  const { status, headers, body } = toResponse(error);
  const fields = headers.flatMap(([name, value]) => [name.toLowerCase(), value]);
  respondAsIs(stream, [":status", String(status), ...fields], { endStream: isHead });
  if (!isHead) stream.end(body);
  const tail = new AnswerTail(stream, host, { isOwn: true });
  tail.watch();
  tail.closeOnceEnded();
}
