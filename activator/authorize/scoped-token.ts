import { createHmac } from "node:crypto";
import type { Clock } from "../../lib/time/clock.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import { rewritesRequest } from "../headers/header-family.ts";
import { headerValue, type RequestHead } from "../request.ts";
import { type Allowed, type Authorizer, type ClusterView, tokenItself } from "./authorizer.ts";
import { opens, type RequestScope, readRequestScope } from "./scoped-token-v2.ts";
import { isSignature } from "./signature.ts";
import type { VerificationKeys } from "./verification-keys.ts";

/** The fewest bytes a signing key may have. */
export const shortestKey = 32;
const context = "agent-sandbox/scoped-token/v1.";

interface Scope {
  readonly ns: string;
  readonly name: string;
  /** Unix seconds from which the token is invalid. */
  readonly exp: number;
}

/** How scoped tokens are verified. At least one of the two versions is set. */
export interface ScopedTokenKeys {
  /** The key that signs tokens of version 1. */
  readonly secret: string | undefined;
  /** From then on tokens of version 1 are invalid. */
  readonly v1Until: Date | undefined;
  /** The public keys for tokens of version 2. */
  readonly verificationKeys: VerificationKeys | undefined;
}

/** What a token opens, by its version. */
type Opened = { readonly v1: Scope } | { readonly v2: RequestScope };

/** Tokens that open one sandbox, or one kind of request to it, until a given time. */
export function scopedTokens(keys: ScopedTokenKeys, clock: Pick<Clock, "now">): Authorizer {
  const opened = new WeakMap<object, Opened>();
  return {
    consumesAuthorization: true,
    authenticate(head, credential) {
      const known = credential && readToken(credential.token, keys, clock.now());
      if (!known) throw new ActivatorError("Unauthenticated");
      opened.set(head, known);
    },
    authorize(head, routed, view) {
      const known = opened.get(head);
      if (!known) throw new ActivatorError("Forbidden");
      return "v1" in known ? allowSandbox(known.v1, head, routed) : allowRequest(known.v2, head, { routed, view });
    },
    sessionFor: tokenItself,
  };
}

function readToken(token: string, keys: ScopedTokenKeys, now: Date): Opened | undefined {
  const { secret, v1Until, verificationKeys } = keys;
  const v2 = verificationKeys && readRequestScope(token, verificationKeys, now);
  if (v2) return { v2 };
  const isOver = v1Until !== undefined && now.getTime() >= v1Until.getTime();
  const v1 = secret === undefined || isOver ? undefined : verifyScopedToken(token, secret, now);
  return v1 && { v1 };
}

/** A token must not be used with another way to choose the address. */
const names = (head: RequestHead, name: string) => headerValue(head.headers, name) !== undefined;

function allowSandbox(scope: Scope, head: RequestHead, routed: Routed): Allowed {
  const choosesAddress = names(head, "x-sandbox-pod-ip") || names(head, "x-sandbox-uid");
  if (choosesAddress || scope.ns !== routed.namespace || scope.name !== routed.name)
    throw new ActivatorError("Forbidden");
  return { routed };
}

const rewritten = "the token names a method and a path, and a header of the request may change them";

/** The request goes to that Sandbox object alone: another one of the same name does not get it, whenever it comes. */
function allowRequest(
  scope: RequestScope,
  head: RequestHead,
  { routed, view }: { readonly routed: Routed; readonly view: ClusterView },
): Allowed {
  if (names(head, "x-sandbox-pod-ip")) throw new ActivatorError("Forbidden");
  if (!view.synced) throw new ActivatorError("ClusterUnseen");
  const uid = view.sandbox(routed.namespace, routed.name)?.metadata.uid;
  if (!opens(scope, head, routed, uid)) throw new ActivatorError("Forbidden");
  if (head.headers.some(([name]) => rewritesRequest(name)))
    throw new ActivatorError("Forbidden", { because: rewritten });
  return { routed: { ...routed, uid } };
}

/** The claims of a token; undefined if it is forged, malformed or expired. */
export function verifyScopedToken(token: string, key: string, now: Date): Scope | undefined {
  const [version, payload, signature, more] = token.split(".", 4);
  if (version !== "v1" || payload === undefined || signature === undefined || more !== undefined) return undefined;
  const expected = createHmac("sha256", key)
    .update(context + payload)
    .digest();
  if (!isSignature(signature, expected)) return undefined;
  const scope = parseScope(payload);
  return scope && now.getTime() < scope.exp * 1000 ? scope : undefined;
}

function parseScope(payload: string): Scope | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (typeof parsed !== "object" || parsed === null) return undefined;
    const { ns, name, exp } = parsed as Partial<Record<keyof Scope, unknown>>;
    if (typeof ns !== "string" || typeof name !== "string" || !Number.isInteger(exp)) return undefined;
    return { ns, name, exp: exp as number };
  } catch {
    return undefined;
  }
}
