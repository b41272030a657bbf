import { StartRefused } from "./start-refusal.ts";

/** Bytes that are derived from one object. A small object may ask for very many: references repeat what they refer to. */
export class ByteBudget {
  readonly #what: string;
  readonly #bytesMax: number;
  #bytes = 0;

  /** `what`: the subject of the error message. */
  constructor(what: string, bytesMax: number) {
    this.#what = what;
    this.#bytesMax = bytesMax;
  }

  get leftBytes(): number {
    return this.#bytesMax - this.#bytes;
  }

  /**
   * Call it before the bytes take memory or disk.
   *
   * @throws StartRefused with `CreateContainerConfigError` when they are too many.
   */
  take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#bytesMax) return;
    throw new StartRefused("CreateContainerConfigError", `${this.#what} have more than ${this.#bytesMax} bytes`);
  }
}
