import { activatorErrors, type ErrorCode } from "../../activator/failures/errors-for-clients.ts";
import { nameRefusals, peerRefusals } from "../../activator/tcp-front/connection/refusals.ts";
import { type Advice, adviceOn } from "./advice.ts";
import { errorAdvice } from "./error-advice.ts";
import { code, page, table } from "./markdown.ts";
import { nameAdvice } from "./name-advice.ts";
import { peerAdvice } from "./peer-advice.ts";

const codes = Object.keys(activatorErrors) as ErrorCode[];

const row = (name: string, { why, what }: Advice): readonly string[] => [code(name), why, what];

export function errorsPage(): string {
  return page("Errors of the activator", [
    "A request that the activator cannot serve gets one of these answers. The code is in the response header `X-Rouse-Reason`, in the access log, and in the label `reason` of the metric `rouse_activator_refused_total`. `Retry-After` is in seconds. The access log has one more code, `ClientGone`: the client left before it got an answer. The access log has no line for a request whose head is malformed, too large or late, or has an Expect header other than 100-continue.",
    table(
      ["Code", "Status", "Retry-After", "Why", "What to do"],
      codes.map((name) => {
        const spec: { readonly status: number; readonly retryAfterSeconds?: number } = activatorErrors[name];
        const { why, what } = adviceOn(name, errorAdvice, "error-advice.ts");
        return [code(name), String(spec.status), String(spec.retryAfterSeconds ?? ""), why, what];
      }),
    ),
    "TCP cannot carry an error, so the activator resets a TCP connection that it cannot serve. The same code is the label `reason` of `rouse_activator_tcp_refused_total`. That label has these values too:",
    table(
      ["Code", "Why", "What to do"],
      peerRefusals.map((name) => row(name, adviceOn(name, peerAdvice, "peer-advice.ts"))),
    ),
    "Connections by name, to the listener of `--by-name-bind-address`, have these additional values. Where the table says so, the client gets a TLS alert or a PostgreSQL error. If a name leads to a deleted or expired sandbox, or to an unclaimed member of a warm pool, the client gets the same answer as for an unknown name. Otherwise the connection is reset.",
    table(
      ["Code", "Why", "What to do"],
      nameRefusals.map((name) => row(name, adviceOn(name, nameAdvice, "name-advice.ts"))),
    ),
  ]);
}
