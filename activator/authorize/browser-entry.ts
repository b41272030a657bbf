import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import type { PathRoute } from "../find/path-route.ts";
import { withoutParameter } from "../find/query.ts";
import { sandboxTarget } from "../find/sandbox-target.ts";
import { type HeaderPair, headerValues, type RequestHead, type Synthetic } from "../request.ts";
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
 * Exchanges a token in the query for a cookie, before anything is woken. Undefined: there is no token, or the response cannot become a
 * page. Scripts of a page read its URL, so no sandbox may respond at a URL with a token, whatever authorized the request.
 *
 * @throws ActivatorError for a request of an entry path that has no token to exchange.
 */
export function enter(
  head: RequestHead,
  routed: Routed,
  credential: Credential | undefined,
  { authorizer, session }: EntryParts,
): Synthetic | undefined {
  const { path } = routed;
  if (!path) return undefined;
  if (session?.queryParameter !== undefined && mayShowPage(head) && hasParameter(head.target, session.queryParameter)) {
    const value = credential?.from === "query" ? authorizer.sessionFor(credential, routed) : undefined;
    return entryResponse(head, path, value, session);
  }
  if (path.isEntry)
    throw new ActivatorError("BadSandboxPath", {
      because: "PREFIX/-/ is only for links and forms with a token in the query",
    });
  return undefined;
}

const hasParameter = (target: string, name: string) => withoutParameter(target, name) !== target;

/** The only types of a body that a form sends (HTML, "form submission"). */
const formTypes: ReadonlySet<string> = new Set([
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "text/plain",
]);

/** Whether a link or a form may have sent the request, so that a browser shows the response as a page. */
function mayShowPage({ method, upgrade, headers }: RequestHead): boolean {
  if (upgrade) return false;
  if (method === "GET" || method === "HEAD") return true;
  if (method !== "POST") return false;
  const types = headerValues(headers, "content-type").map(
    (value) => value.split(";", 1)[0]?.trim().toLowerCase() ?? "",
  );
  return types.length === 0 || types.some((type) => formTypes.has(type));
}

/**
 * Sends a browser to the sandbox's URL without the token, with a cookie for the paths of this sandbox and port. The browser drops it when
 * it is closed. `value`: undefined if the token was not what authorized the request.
 */
function entryResponse(
  { method, target }: RequestHead,
  path: PathRoute,
  value: string | undefined,
  { cookieName, queryParameter, sameSite, secure }: SessionCookie,
): Synthetic {
  const own = sandboxTarget(target, { length: path.length, hidden: queryParameter });
  const attributes = `Path=${path.base}; HttpOnly${secure ? "; Secure" : ""}; SameSite=${sameSite}`;
  const headers: HeaderPair[] = [["Location", `${path.base}${own.slice(1)}`]];
  if (value !== undefined) headers.push(["Set-Cookie", `${cookieName}=${value}; ${attributes}`]);
  headers.push(["Cache-Control", "no-store"]);
  return { status: method === "POST" ? 303 : 302, headers, body: "" };
}
