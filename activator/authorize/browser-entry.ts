import type { Routed } from "../find/find.ts";
import type { PathRoute } from "../find/path-route.ts";
import { sandboxTarget } from "../find/sandbox-target.ts";
import type { RequestHead, Synthetic } from "../request.ts";
import type { Authorizer } from "./authorizer.ts";
import type { Credential } from "./credential.ts";

/** The cookie that a browser gets for a token in the query, and which pages may use it. */
export interface SessionCookie {
  readonly cookieName: string;
  /** Undefined: no query holds a token. */
  readonly queryParameter: string | undefined;
  readonly sameSite: "Lax" | "Strict" | "None";
  /** Whether browsers send it over TLS only. */
  readonly secure: boolean;
  readonly allowedOrigins: readonly string[];
  readonly trustsForwardedProto: boolean;
}

interface EntryParts {
  readonly authorizer: Pick<Authorizer, "sessionFor">;
  readonly session?: SessionCookie | undefined;
}

/**
 * Exchanges a token in the query for a cookie, before anything is woken. Undefined: there is none to exchange. Requests of other methods
 * and upgrades would not survive the redirect: they are served at once.
 */
export function enter(
  { target, method, upgrade }: RequestHead,
  routed: Routed,
  credential: Credential,
  { authorizer, session }: EntryParts,
): Synthetic | undefined {
  const isEntry = (method === "GET" || method === "HEAD") && !upgrade;
  if (!session || !routed.path || credential.from !== "query" || !isEntry) return undefined;
  return entryResponse(target, routed.path, authorizer.sessionFor(credential, routed), session);
}

/**
 * Sends a browser to the same URL without the token, with a cookie for the paths of this sandbox and port. The browser drops it when
 * it is closed.
 */
function entryResponse(target: string, path: PathRoute, value: string, session: SessionCookie): Synthetic {
  const { cookieName, queryParameter, sameSite, secure } = session;
  const own = sandboxTarget(target, { length: path.length, hidden: queryParameter });
  const attributes = `Path=${path.base}; HttpOnly${secure ? "; Secure" : ""}; SameSite=${sameSite}`;
  return {
    status: 302,
    headers: [
      ["Location", `${path.base}${own.slice(1)}`],
      ["Set-Cookie", `${cookieName}=${value}; ${attributes}`],
      ["Cache-Control", "no-store"],
    ],
    body: "",
  };
}
