import { flag } from "../../lib/flags/flags.ts";

const isPrefix = (text: string) =>
  text === "" || (/^(\/[A-Za-z0-9._~-]+)+$/.test(text) && !/\/\.{1,2}(\/|$)/.test(text))
    ? undefined
    : "must begin with a slash and not end with one; its segments may have letters, digits and -._~";

const isName = (text: string) =>
  /^[A-Za-z0-9_.~-]*$/.test(text) ? undefined : "may have letters, digits and -_.~ only";

/** Browsers accept a cookie of such a name for the path `/` only. */
const isCookieName = (text: string) =>
  /^__host-/i.test(text) ? "must not begin with __Host-: the cookie is for the path of one sandbox" : isName(text);

/** The flags of sandboxes that a path names. Names and meanings are the ecosystem's. */
export const pathRoutingFlags = {
  "path-routing-prefix": flag.string(
    "",
    "serve sandboxes at PREFIX/NAMESPACE/NAME/PORT/ too, for one host name without a wildcard; all sandboxes then share the origin of that host; empty: no path names a sandbox",
    isPrefix,
  ),
  "path-routing-rewrite-responses": flag.boolean(
    true,
    "in responses, put the path that names the sandbox before each path of the sandbox: in the header Location, and in the Path of cookies",
  ),
  "authz-cookie-name": flag.string(
    "",
    "name of the cookie that a browser sends in place of a token, to a sandbox that the path names; needs --path-routing-prefix and an authorization mode other than allow-all; empty: no cookie",
    isCookieName,
  ),
  "authz-cookie-query-param": flag.string(
    "",
    "query parameter that carries a token; the activator exchanges the token for the cookie; sandboxes that paths name then have no service workers; needs --authz-cookie-name; empty: tokens in queries are ignored",
    isName,
  ),
  "authz-cookie-samesite": flag.string(
    "lax",
    "SameSite of the cookie: lax, strict or none; none is rejected with --authz-cookie-insecure",
    (text) => (["lax", "strict", "none"].includes(text) ? undefined : "must be one of lax, strict, none"),
  ),
  "authz-cookie-insecure": flag.boolean(
    false,
    "let browsers send the cookie over plain HTTP too; only for tests, and for networks on which nobody can read traffic; rejected with --authz-cookie-samesite=none",
  ),
  "authz-cookie-allowed-origins": flag.string(
    "",
    "origins of web pages, besides the origin of the request's host, that may use the cookie, as scheme://host[:port] and separated by commas; needs --authz-cookie-name",
  ),
  "authz-trust-forwarded-proto": flag.boolean(
    false,
    "take the scheme of the request's own origin from X-Forwarded-Proto; only behind a gateway that sets this header; needs --authz-cookie-name",
  ),
} as const;
