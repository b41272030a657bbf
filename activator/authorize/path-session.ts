import { createHmac } from "node:crypto";
import type { Clock } from "../../lib/time/clock.ts";
import type { Routed } from "../find/find.ts";
import { isSignature } from "./signature.ts";

type Opened = Pick<Routed, "namespace" | "name" | "port">;

interface Session extends Opened {
  /** Milliseconds of Unix time from which it is invalid. */
  readonly exp: number;
}

/** How long a session opens its sandbox, in milliseconds. Then the browser needs the token again. */
const sessionMs = 12 * 3_600_000;

/**
 * Sessions of browsers, in place of one token that opens all sandboxes and has no end. A session opens one port of one sandbox. All
 * replicas have the token, so that each knows the sessions of the others, and a new token ends all of them.
 */
export class PathSessions {
  readonly #key: Buffer;
  readonly #clock: Pick<Clock, "now">;

  constructor(token: string, clock: Pick<Clock, "now">) {
    this.#key = createHmac("sha256", token).update("rouse/path-session").digest();
    this.#clock = clock;
  }

  open({ namespace, name, port }: Opened): string {
    const session: Session = { namespace, name, port, exp: this.#clock.now().getTime() + sessionMs };
    const payload = Buffer.from(JSON.stringify(session)).toString("base64url");
    return `${payload}.${this.#sign(payload).toString("base64url")}`;
  }

  /** What the session opens; undefined if it is forged, malformed or expired. */
  read(text: string): Opened | undefined {
    const [payload = "", signature = "", ...more] = text.split(".", 3);
    if (more.length > 0 || !isSignature(signature, this.#sign(payload))) return undefined;
    const session: Session = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")); // our own, as its signature shows
    return this.#clock.now().getTime() < session.exp ? session : undefined;
  }

  #sign(payload: string): Buffer {
    return createHmac("sha256", this.#key).update(payload).digest();
  }
}
