import { KeyCounts } from "../../lib/queues/key-counts.ts";
import type { RequestHead } from "../request.ts";

/** Several thousand usual heads, or about five hundred of the largest size. */
const headBytesMax = 32 * 1024 * 1024;
/** A thousand bodies of HTTP/2 of which the whole first window has arrived. */
const bodyBytesMax = 64 * 1024 * 1024;

type WaitingRequest = Pick<RequestHead, "peer" | "bytes" | "keptBody">;

/**
 * The memory of requests that wait for a review, which any number of clients share: their heads are kept whole meanwhile, and of
 * their bodies what has arrived.
 */
export class WaitingRequests {
  readonly #heads = new SharedBytes(headBytesMax);
  readonly #bodies = new SharedBytes(bodyBytesMax);

  /** Undefined: there is no room. `onCrowded` is called if there is none for the rest of the body, which arrives later. */
  hold({ peer, bytes: headBytes = 0, keptBody: body }: WaitingRequest, onCrowded: () => void): Disposable | undefined {
    let bodyBytes = body?.keptBytes ?? 0;
    if (!this.#heads.take(peer, headBytes)) return undefined;
    if (!this.#bodies.take(peer, bodyBytes)) {
      this.#heads.giveBack(peer, headBytes);
      return undefined;
    }
    body?.onGrowth((more) => {
      if (this.#bodies.take(peer, more)) bodyBytes += more;
      else onCrowded();
    });
    return {
      [Symbol.dispose]: () => {
        body?.onGrowth(undefined);
        this.#heads.giveBack(peer, headBytes);
        this.#bodies.giveBack(peer, bodyBytes);
      },
    };
  }
}

/** A client gets room only while it has less than what is left, so one client has half of it at most. */
class SharedBytes {
  readonly #max: number;
  readonly #bytesOf = new KeyCounts();
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether there was room. `peer`: the client's address. */
  take(peer: string, bytes: number): boolean {
    if (bytes > 0 && this.#bytesOf.of(peer) + bytes > this.#max - this.#bytes) return false;
    this.#bytes += bytes;
    this.#bytesOf.add(peer, bytes);
    return true;
  }

  giveBack(peer: string, bytes: number): void {
    this.#bytes -= bytes;
    this.#bytesOf.remove(peer, bytes);
  }
}
