import type { FlagValues } from "../../lib/flags/flags.ts";
import { originOf } from "../../lib/net/origin.ts";
import type { SessionCookie } from "../authorize/browser-entry.ts";
import { ConfigError } from "./config-error.ts";
import type { pathRoutingFlags } from "./path-routing-flags.ts";

/** How paths name sandboxes. */
export interface PathRouting {
  readonly prefix: string;
  readonly rewritesResponses: boolean;
  /** Undefined: only `Authorization` lets a client in. */
  readonly session: SessionCookie | undefined;
}

type Values = FlagValues<typeof pathRoutingFlags>;

/** @throws ConfigError for settings that contradict each other. `isOpen`: nobody needs a token. */
export function pathRoutingOf(values: Values, isOpen: boolean): PathRouting | undefined {
  const prefix = values["path-routing-prefix"];
  const session = sessionOf(values);
  if (session && prefix === "") throw new ConfigError("--authz-cookie-name needs --path-routing-prefix");
  if (session && isOpen)
    throw new ConfigError("--authz-cookie-name needs a mode of authorization other than allow-all");
  if (prefix === "") return undefined;
  return { prefix, rewritesResponses: values["path-routing-rewrite-responses"], session };
}

const withCookieOnly = [
  ...(["authz-cookie-query-param", "authz-cookie-allowed-origins", "authz-trust-forwarded-proto"] as const),
];

function sessionOf(values: Values): SessionCookie | undefined {
  const cookieName = values["authz-cookie-name"];
  if (cookieName === "") {
    const lost = withCookieOnly.find((name) => values[name]);
    if (lost) throw new ConfigError(`--${lost} needs --authz-cookie-name`);
    return undefined;
  }
  const sameSite = sameSites[values["authz-cookie-samesite"]] ?? "Lax";
  const secure = !values["authz-cookie-insecure"];
  if (sameSite === "None" && !secure)
    throw new ConfigError("--authz-cookie-samesite=none and --authz-cookie-insecure contradict each other");
  return {
    ...{ cookieName, sameSite, secure },
    queryParameter: values["authz-cookie-query-param"] || undefined,
    allowedOrigins: values["authz-cookie-allowed-origins"].split(",").flatMap((text) => {
      const origin = text.trim();
      return origin === "" ? [] : (originOf(origin) ?? refuseOrigin(origin));
    }),
    trustsForwardedProto: values["authz-trust-forwarded-proto"],
  };
}

const sameSites: Readonly<Record<string, SessionCookie["sameSite"]>> = { lax: "Lax", strict: "Strict", none: "None" };

function refuseOrigin(origin: string): never {
  throw new ConfigError(`--authz-cookie-allowed-origins: ${origin} is no origin: it must be scheme://host[:port]`);
}
