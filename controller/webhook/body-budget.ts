import type { IncomingMessage } from "node:http";

export interface BodyLimits {
  /** Of one request. */
  readonly bytesMax: number;
  /** Of all requests that are being read or answered. */
  readonly bytesInHandMax: number;
}

/** A body is not read to its end: `code` is the HTTP status that says why. */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused";
  readonly code: 400 | 413 | 503;

  constructor(code: BodyRefused["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** A body that counts against the budget until it is disposed of. */
export interface HeldBody extends Disposable {
  readonly text: string;
}

/** Reads bodies into memory, and never more of them at once than there is room for. */
export class BodyBudget {
  readonly #limits: BodyLimits;
  #bytesInHand = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  get bytesInHand(): number {
    return this.#bytesInHand;
  }

  /** @throws BodyRefused when it is too large, there is no room for it, or its client left. */
  async read(request: IncomingMessage): Promise<HeldBody> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const release = () => {
      this.#bytesInHand -= bytes;
      bytes = 0;
    };
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        this.#bytesInHand += chunk.length;
        this.#refuseTooMuch(bytes);
        chunks.push(chunk);
      }
      return { text: Buffer.concat(chunks).toString("utf8"), [Symbol.dispose]: release };
    } catch (error) {
      release();
      throw error instanceof BodyRefused ? error : new BodyRefused(400, "the body broke off");
    }
  }

  #refuseTooMuch(bytes: number): void {
    const { bytesMax, bytesInHandMax } = this.#limits;
    if (bytes > bytesMax) throw new BodyRefused(413, `the body has more than ${bytesMax} bytes`);
    if (this.#bytesInHand > bytesInHandMax) throw new BodyRefused(503, "too many bodies at once; try again");
  }
}
