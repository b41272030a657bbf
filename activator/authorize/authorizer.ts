import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/time/clock.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import type { RequestHead } from "../request.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { Credential } from "./credential.ts";
import { PathSessions } from "./path-session.ts";

/** A request that may reach the sandbox that it names. */
export interface Allowed {
  readonly routed: Routed;
}

/** What the activator sees of the cluster. */
export interface ClusterView {
  readonly synced: boolean;
  sandbox(namespace: string, name: string): SlimSandbox | undefined;
}

/** Decides which client may reach which sandbox, before a wake. Both steps throw or reject with an ActivatorError to reject. */
export interface Authorizer {
  /** Whether the activator reads `Authorization` itself and must not forward it. */
  readonly consumesAuthorization: boolean;
  /** Authenticates the client. Runs before the target is read, so that unauthenticated clients learn nothing about it. */
  authenticate(head: RequestHead, credential: Credential | undefined): void | Promise<void>;
  /** Authorizes the client for this sandbox. */
  authorize(head: RequestHead, routed: Routed, view: ClusterView): Allowed | Promise<Allowed>;
  /** The value of a cookie that opens the sandbox to the browser as this credential did. */
  sessionFor(credential: Credential, routed: Routed): string;
}

/** Tokens that are bounded themselves, in time and in what they open, serve as sessions. */
export const tokenItself = ({ token }: Credential): string => token;

/** Lets every client reach every sandbox. */
export const allowAll: Authorizer = {
  consumesAuthorization: false,
  authenticate: () => {},
  authorize: (_, routed) => ({ routed }),
  sessionFor: tokenItself,
};

/** One token for all sandboxes. A browser gets a session for one port of one sandbox in its place. */
export function staticToken(token: string, clock: Pick<Clock, "now">): Authorizer {
  const expected = digest(token);
  const sessions = new PathSessions(token, clock);
  const opened = new WeakMap<object, ReturnType<typeof sessions.read>>();
  return {
    consumesAuthorization: true,
    authenticate(head, credential) {
      if (credential === undefined) throw new ActivatorError("MissingCredentials");
      if (credential.from === "cookie") {
        const session = sessions.read(credential.token);
        if (!session) throw new ActivatorError("Unauthenticated");
        opened.set(head, session);
      } else if (!timingSafeEqual(digest(credential.token), expected)) throw new ActivatorError("WrongToken");
    },
    authorize(head, routed) {
      const session = opened.get(head);
      const isOpened =
        !session ||
        (session.namespace === routed.namespace && session.name === routed.name && session.port === routed.port);
      if (!isOpened) throw new ActivatorError("Forbidden");
      return { routed };
    },
    sessionFor: (_, routed) => sessions.open(routed),
  };
}

// Hashes have equal lengths: timingSafeEqual needs that, and the length of the token stays secret.
const digest = (text: string) => createHash("sha256").update(text).digest();
