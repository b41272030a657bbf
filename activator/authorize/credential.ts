import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { PathOptions } from "../find/path-route.ts";
import { prefixOf } from "../find/path-route.ts";
import { parameterValue } from "../find/query.ts";
import { cookieValue } from "../headers/base-path.ts";
import { headerValues, type RequestHead } from "../request.ts";

/** RFC 6265, 4.1.1. */
const consistsOfCookieOctets = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/;

/** What a request shows to be let in. */
export interface Credential {
  readonly token: string;
  readonly from: "header" | "query" | "cookie";
}

/** The places of a credential besides `Authorization`, for browsers. Only requests whose path names a sandbox have them. */
export interface CredentialPlaces extends PathOptions {
  readonly pathRouting?: { readonly prefix: string; readonly session: CredentialNames | undefined } | undefined;
}

interface CredentialNames {
  readonly cookieName: string;
  readonly queryParameter: string | undefined;
}

/**
 * The first of: `Authorization`, the query, the cookie. A malformed one is no reason to look further.
 *
 * @throws ActivatorError for a token in the query that no cookie can hold.
 */
export function credentialOf(head: RequestHead, places: CredentialPlaces): Credential | undefined {
  const session = places.pathRouting?.session;
  if (session === undefined || headerValues(head.headers, "authorization").length > 0) return headerCredential(head);
  if (prefixOf(head, places) === undefined) return undefined;
  return fromQuery(head, session) ?? fromCookie(head, session);
}

/** The credential of programs. */
export function headerCredential(head: RequestHead): Credential | undefined {
  const token = bearerOf(head);
  return token === undefined ? undefined : { token, from: "header" };
}

function fromQuery({ target }: RequestHead, { queryParameter }: CredentialNames): Credential | undefined {
  const token = queryParameter === undefined ? undefined : parameterValue(target, queryParameter);
  if (!token) return undefined;
  // It is unescaped here and goes back to the browser in a cookie: other characters would end the cookie, or its line.
  if (!consistsOfCookieOctets.test(token)) throw new ActivatorError("Unauthenticated");
  return { token, from: "query" };
}

/** Browsers send the cookie of the longest path first (RFC 6265, 5.4). */
function fromCookie({ headers }: RequestHead, { cookieName }: CredentialNames): Credential | undefined {
  const [token] = headerValues(headers, "cookie").flatMap((value) => cookieValue(cookieName, value) ?? []);
  return token ? { token, from: "cookie" } : undefined;
}

/** The token of `Authorization: Bearer TOKEN`; undefined when the header is absent, of another form, or repeated. */
export function bearerOf(head: RequestHead): string | undefined {
  const values = headerValues(head.headers, "authorization");
  const [value] = values;
  if (value === undefined || values.length > 1) return undefined;
  return /^bearer\s+(\S+)$/i.exec(value.trim())?.[1];
}
