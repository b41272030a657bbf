import type { Http2Session } from "node:http2";

/** What Node reports of a connection besides its streams. Each such frame costs its sender a few bytes, and us a call and objects. */
const events = ["ping", "remoteSettings", "goaway", "altsvc", "origin"] as const;

/**
 * Without TLS, Node makes strings of an ORIGIN frame, and then asks whether the connection is encrypted, to drop them. It keeps them for
 * a connection that is, so the answer remains no (RFC 8336, 2.1). Node asks for nothing else.
 */
function reportOrigins(session: Http2Session, arrived: () => void): void {
  Object.defineProperty(session, "encrypted", {
    get: () => {
      arrived();
      return false;
    },
  });
}

/**
 * SETTINGS count as one frame more for so many open streams: nghttp2 moves the window of each, and asks again what it may send. Measured:
 * 60 µs with 1,000 streams.
 */
const streamsOfFrame = 8;

interface ControlFrameLimits {
  /** How many frames may come at once. */
  readonly atOnce: number;
  /** How many more may come in each step of the sweep. */
  readonly perStep: number;
}

/** Counts the frames of one connection that belong to no request and no response. */
export class ControlFrames {
  readonly #limits: ControlFrameLimits;
  #count = 0;

  constructor(limits: ControlFrameLimits) {
    this.#limits = limits;
  }

  /** `streams`: how many are open. */
  watch(session: Http2Session, arrived: () => void, streams: () => number = () => 0): void {
    session.on("remoteSettings", () => {
      this.#count += Math.floor(streams() / streamsOfFrame);
    });
    if (session.encrypted === false) reportOrigins(session, arrived);
    for (const event of events) session.on(event, arrived);
  }

  /** One more has arrived. Returns whether they are too many. */
  count(): boolean {
    this.#count += 1;
    return this.#count > this.#limits.atOnce;
  }

  /** Called for each step. */
  check(): void {
    this.#count = Math.max(0, this.#count - this.#limits.perStep);
  }
}
