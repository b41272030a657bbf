import { originOf } from "../../lib/net/origin.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import { headerValues, type RequestHead } from "../request.ts";

export interface OriginRules {
  /** Origins in the form of `originOf`. */
  readonly allowedOrigins: readonly string[];
  /** Whether a gateway in front states the scheme of its clients. */
  readonly trustsForwardedProto: boolean;
}

/**
 * A browser sends the cookie for any page. So a page of another origin must not use it, unless the operator has listed that origin.
 * Links and images have no `Origin`.
 *
 * @throws ActivatorError for a foreign origin.
 */
export function refuseForeignOrigin(head: RequestHead, { allowedOrigins, trustsForwardedProto }: OriginRules): void {
  const own = originOf(`${schemeOf(head, trustsForwardedProto)}://${head.host}`);
  for (const value of headerValues(head.headers, "origin")) {
    const origin = originOf(value.trim());
    if (origin === undefined || (origin !== own && !allowedOrigins.includes(origin)))
      throw new ActivatorError("ForeignOrigin");
  }
}

function schemeOf({ scheme = "http", headers }: RequestHead, trustsForwardedProto: boolean): string {
  if (scheme === "https" || !trustsForwardedProto) return scheme;
  const [stated] = headerValues(headers, "x-forwarded-proto")[0]?.split(",") ?? [];
  return stated?.trim() || scheme;
}
