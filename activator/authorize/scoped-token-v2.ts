import { verify } from "node:crypto";
import type { Routed } from "../find/find.ts";
import { pathOf, type RequestHead, sentTarget } from "../request.ts";
import { bytesOf } from "./signature.ts";
import { isKid, type VerificationKeys } from "./verification-keys.ts";

const context = "agent-sandbox/scoped-token/v2.";

/** What a token of version 2 opens: one kind of request to one port of one Sandbox object. */
export interface RequestScope {
  readonly ns: string;
  readonly name: string;
  readonly uid: string;
  readonly port: number;
  readonly method: string;
  /** As the sandbox gets it, without the query; the digits of its escapes are upper case. */
  readonly path: string;
  /** Unix seconds from which the token is invalid. */
  readonly exp: number;
}

/** The scope of a token; undefined if it is forged, malformed or expired. */
export function readRequestScope(token: string, keys: VerificationKeys, now: Date): RequestScope | undefined {
  const [version, kid, payload, signature, ...more] = token.split(".", 5);
  if (version !== "v2" || payload === undefined || signature === undefined || more.length > 0) return undefined;
  const key = isKid(kid) ? keys.get(kid) : undefined;
  const given = bytesOf(signature);
  if (!key || !given || !verify(null, Buffer.from(`${context}${kid}.${payload}`), key, given)) return undefined;
  const scope = parseScope(payload);
  return scope && now.getTime() < scope.exp * 1000 ? scope : undefined;
}

function parseScope(payload: string): RequestScope | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytesOf(payload)?.toString("utf8") ?? "");
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const { ns, name, uid, port, method, path, exp } = parsed as Partial<Record<keyof RequestScope, unknown>>;
  if (typeof ns !== "string" || typeof name !== "string" || typeof uid !== "string" || uid === "") return undefined;
  if (typeof method !== "string" || typeof path !== "string") return undefined;
  if (typeof port !== "number" || typeof exp !== "number" || !Number.isInteger(exp)) return undefined;
  return { ns, name, uid, port, method, path, exp };
}

/** Whether the scope is this request's. `uid`: of the Sandbox that has the name now; undefined: none has. */
export function opens(scope: RequestScope, head: RequestHead, routed: Routed, uid: string | undefined): boolean {
  return (
    scope.ns === routed.namespace &&
    scope.name === routed.name &&
    scope.uid === uid &&
    scope.port === routed.port &&
    scope.method === head.method &&
    scope.path === escapedPath(sentTarget(head))
  );
}

/** A path with the digits of its escapes in upper case; undefined if an escape is malformed. */
function escapedPath(target: string): string | undefined {
  const path = pathOf(target);
  if (/%(?![0-9a-f]{2})/i.test(path)) return undefined;
  return path.replace(/%[0-9a-f]{2}/gi, (escaped) => escaped.toUpperCase());
}
