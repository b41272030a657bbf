import { createHash, timingSafeEqual } from "node:crypto";
import { ActivatorError } from "../errors.ts";
import type { Routed } from "../find/find.ts";
import { headerValues, type RequestHead } from "../request.ts";

/** A request that may reach the sandbox that it names. */
export interface Allowed {
  readonly routed: Routed;
}

/** Decides who may reach which sandbox, before anything is woken. Both steps throw, or reject with, an ActivatorError to refuse. */
export interface Authorizer {
  /** Whether `Authorization` is meant for us, so that no sandbox may see it. */
  readonly consumesAuthorization: boolean;
  /** Who is this? Asked before the target is read, so that strangers learn nothing about it. A promise where it takes time. */
  authenticate(head: RequestHead): void | Promise<void>;
  /** May they reach this sandbox? */
  authorize(head: RequestHead, routed: Routed): Allowed | Promise<Allowed>;
}

/** Lets everybody reach everything. */
export const allowAll: Authorizer = {
  consumesAuthorization: false,
  authenticate: () => {},
  authorize: (_, routed) => ({ routed }),
};

/** One token that opens every sandbox. */
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
  const [scheme = "", token, ...rest] = value.trim().split(/\s+/);
  return scheme.toLowerCase() === "bearer" && rest.length === 0 ? token : undefined;
}

// Equal lengths whatever was sent: timingSafeEqual compares nothing else, and a length is a hint as well.
const digest = (text: string) => createHash("sha256").update(text).digest();
