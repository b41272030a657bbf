import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { callingOrigin } from "../../find/calling-page.ts";
import type { FindOptions } from "../../find/find.ts";
import { isOfForeignPage } from "../../find/foreign-page.ts";
import { headerValue, headerValues, type RequestHead, type Synthetic } from "../../request.ts";

/** How long a browser may remember the answer, in seconds. */
const rememberedSeconds = 600;

const isToken = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** The header that both libraries for browsers set. A preflight names it, but not the content type of the call. */
const markOfWebCalls = "x-grpc-web";

/**
 * The answer to a browser that asks whether a page may send a call of gRPC-Web (Fetch, "CORS-preflight request"); undefined: the
 * request is none. A preflight has no credentials, so the answer depends on names alone, not on which sandboxes exist.
 *
 * @throws ActivatorError if the page may not.
 */
export function answerToPreflight(head: RequestHead, pages: FindOptions): Synthetic | undefined {
  if (head.method !== "OPTIONS" || pages.webOrigins === undefined) return undefined;
  const valuesOf = (name: string) => headerValues(head.headers, name);
  const method = headerValue(head.headers, "access-control-request-method");
  const asked = valuesOf("access-control-request-headers").join(",").split(",");
  const names = asked.map((name) => name.trim().toLowerCase()).filter((name) => isToken.test(name));
  if (method !== "POST" || !names.includes(markOfWebCalls)) return undefined;
  const isForeign = pages.refusesForeignPages === true && isOfForeignPage(head.headers, pages);
  const origin = isForeign ? undefined : callingOrigin(head.host, valuesOf, pages);
  if (origin === undefined) throw new ActivatorError("ForeignOrigin");
  return {
    status: 200,
    headers: [
      ["Access-Control-Allow-Origin", origin],
      ["Access-Control-Allow-Methods", "POST"],
      ["Access-Control-Allow-Headers", names.join(", ")],
      ["Access-Control-Max-Age", String(rememberedSeconds)],
      ["Vary", "Origin"],
    ],
    body: "",
  };
}
