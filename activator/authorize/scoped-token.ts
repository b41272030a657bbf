import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/time/clock.ts";
import { ActivatorError } from "../failures/error-codes.ts";
import { headerValue } from "../request.ts";
import { type Authorizer, tokenItself } from "./authorizer.ts";

/** The fewest bytes a signing key may have. */
export const shortestKey = 32;
const context = "agent-sandbox/scoped-token/v1.";

interface Scope {
  readonly ns: string;
  readonly name: string;
  /** Unix seconds from which the token is invalid. */
  readonly exp: number;
}

/** Tokens that open one sandbox until a given time. */
export function scopedTokens(key: string, clock: Clock): Authorizer {
  const scopes = new WeakMap<object, Scope>();
  return {
    consumesAuthorization: true,
    authenticate(head, credential) {
      const scope = credential && verifyScopedToken(credential.token, key, clock.now());
      if (!scope) throw new ActivatorError("Unauthenticated");
      scopes.set(head, scope);
    },
    authorize(head, routed) {
      // A token for one sandbox must not be used with another way to choose the address.
      const choosesAddress = ["x-sandbox-pod-ip", "x-sandbox-uid"].some((name) => headerValue(head.headers, name));
      const scope = scopes.get(head);
      if (choosesAddress || scope?.ns !== routed.namespace || scope.name !== routed.name) {
        throw new ActivatorError("Forbidden");
      }
      return { routed };
    },
    sessionFor: tokenItself,
  };
}

/** The claims of a token; undefined if it is forged, malformed or expired. */
export function verifyScopedToken(token: string, key: string, now: Date): Scope | undefined {
  const [version, payload, signature, more] = token.split(".", 4);
  if (version !== "v1" || payload === undefined || signature === undefined || more !== undefined) return undefined;
  const expected = createHmac("sha256", key)
    .update(context + payload)
    .digest();
  const given = Buffer.from(signature, "base64url");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
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
