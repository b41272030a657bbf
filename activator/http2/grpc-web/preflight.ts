import { originOf } from "../../../lib/net/origin.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { callingOrigin } from "../../find/calling-page.ts";
import type { FindOptions } from "../../find/find.ts";
import { isOfForeignPage } from "../../find/foreign-page.ts";
import { headerValue, headerValues, type RequestHead, type Synthetic } from "../../request.ts";

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
  const origin = isForeign ? undefined : callingOrigin(head.host, valuesOf, pages, head.scheme);
  if (origin === undefined) throw new ActivatorError("ForeignOrigin");
  return {
    status: 200,
    headers: [
      ["Access-Control-Allow-Origin", origin],
      ["Access-Control-Allow-Methods", "POST"],
      ["Access-Control-Allow-Headers", names.join(", ")],
      // A permit that a browser remembers for a URL holds for requests without the mark too, such as JSON (Fetch, "CORS-preflight cache").
      ["Access-Control-Max-Age", "0"],
      ["Vary", "Origin"],
    ],
    body: "",
  };
}

/**
 * A permit is for calls of gRPC-Web alone. A request of another page that has their mark, and is none, would reach the sandbox by it.
 *
 * @throws ActivatorError for such a request.
 */
export function refuseMarkedRequest(head: RequestHead, { webOrigins }: FindOptions): void {
  if (head.method !== "POST" || webOrigins === undefined || head.grpc?.web !== undefined) return;
  if (headerValues(head.headers, markOfWebCalls).length === 0) return;
  if (headerValues(head.headers, "origin").some((origin) => !isOwnOrigin(origin, head)))
    throw new ActivatorError("ForeignOrigin");
}

/** A gateway may end TLS in front, so a connection without TLS says nothing about the scheme of the page. */
function isOwnOrigin(text: string, { host, scheme }: RequestHead): boolean {
  const origin = originOf(text.trim());
  const schemes = scheme === "https" ? ["https"] : ["http", "https"];
  return origin !== undefined && schemes.some((each) => originOf(`${each}://${host}`) === origin);
}
