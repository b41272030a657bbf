import { createHash, timingSafeEqual } from "node:crypto";
import { ActivatorError } from "../failures/error-codes.ts";
import type { Routed } from "../find/find.ts";
import { headerValues, type RequestHead } from "../request.ts";

/** A request that may reach the sandbox that it names. */
export interface Allowed {
  readonly routed: Routed;
}

/** Decides which client may reach which sandbox, before a wake. Both steps throw or reject with an ActivatorError to reject. */
export interface Authorizer {
  /** Whether the activator reads `Authorization` itself and must not forward it. */
  readonly consumesAuthorization: boolean;
  /** Authenticates the client. Runs before the target is read, so that unauthenticated clients learn nothing about it. */
  authenticate(head: RequestHead): void | Promise<void>;
  /** Authorizes the client for this sandbox. */
  authorize(head: RequestHead, routed: Routed): Allowed | Promise<Allowed>;
}

/** Lets every client reach every sandbox. */
export const allowAll: Authorizer = {
  consumesAuthorization: false,
  authenticate: () => {},
  authorize: (_, routed) => ({ routed }),
};

/** One token for all sandboxes. */
export function staticToken(token: string): Authorizer {
  const expected = digest(token);
  return {
    consumesAuthorization: true,
    authenticate(head) {
      const given = bearerOf(head);
      if (given === undefined) throw new ActivatorError("MissingCredentials");
      if (!timingSafeEqual(digest(given), expected)) throw new ActivatorError("WrongToken");
    },
    authorize: (_, routed) => ({ routed }),
  };
}

/** The token of `Authorization: Bearer TOKEN`; undefined when the header is absent, of another form, or repeated. */
export function bearerOf(head: RequestHead): string | undefined {
  const [value, ...more] = headerValues(head.headers, "authorization");
  if (value === undefined || more.length > 0) return undefined;
  return /^bearer\s+(\S+)$/i.exec(value.trim())?.[1];
}

// Hashes have equal lengths: timingSafeEqual needs that, and the length of the token stays secret.
const digest = (text: string) => createHash("sha256").update(text).digest();
