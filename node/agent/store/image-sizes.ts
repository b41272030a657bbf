import { type ImageKey, textOf } from "./image-key.ts";

export interface ImageSize {
  readonly key: ImageKey;
  readonly bytes: number;
  /** Whether a part of it may still grow. */
  readonly isPartial: boolean;
}

export interface ImageSizesParts {
  /** All images of which there is anything. */
  readonly keys: () => Promise<readonly ImageKey[]>;
  /** From the disk. */
  readonly measure: (key: ImageKey) => Promise<ImageSize>;
}

/**
 * What images take. They are measured once and kept, for only the agent writes there: a node may have thousands of them, and each preflight asks.
 */
export class ImageSizes {
  readonly #parts: ImageSizesParts;
  #sizes = new Map<string, ImageSize>();
  /** What has changed while all are measured. */
  #changed = new Map<string, ImageKey>();
  #measuring: Promise<void> | undefined;
  /** The last measure of an image that has begun: an earlier one that ends later is of no use. */
  readonly #begun = new Map<string, symbol>();

  constructor(parts: ImageSizesParts) {
    this.#parts = parts;
  }

  /** Those that grow are measured each time. */
  async all(): Promise<readonly ImageSize[]> {
    for (let measured: Promise<void> | undefined; !measured || measured !== this.#measuring; ) {
      measured = this.#measuring ?? this.#measureAll();
      await measured;
    }
    const known = [...this.#sizes.values()];
    return Promise.all(known.map((size) => (size.isPartial ? this.#parts.measure(size.key) : size)));
  }

  /** Without a look at the disk; 0 before the first one. */
  knownBytes(): number {
    return [...this.#sizes.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The agent has changed something of an image. */
  async change(key: ImageKey): Promise<void> {
    this.#changed.set(textOf(key), key);
    await this.#measureOne(key).catch(() => this.forget());
  }

  async measureAgain(): Promise<void> {
    await this.#measureAll();
  }

  /** All are measured before the next answer. */
  forget(): void {
    this.#measuring = undefined;
  }

  #measureAll(): Promise<void> {
    const measuring = this.#readAll().catch((error: unknown) => {
      if (this.#measuring === measuring) this.forget();
      throw error;
    });
    this.#measuring = measuring;
    return measuring;
  }

  async #readAll(): Promise<void> {
    const changed = new Map<string, ImageKey>();
    this.#changed = changed;
    const sizes = new Map<string, ImageSize>();
    for (const key of await this.#parts.keys()) sizes.set(textOf(key), await this.#parts.measure(key));
    if (this.#changed !== changed) return; // another one has begun
    this.#sizes = sizes;
    for (const key of changed.values()) await this.#measureOne(key);
  }

  async #measureOne(key: ImageKey): Promise<void> {
    const [text, own] = [textOf(key), Symbol(textOf(key))];
    this.#begun.set(text, own);
    const size = await this.#parts.measure(key);
    if (this.#begun.get(text) !== own) return;
    this.#begun.delete(text);
    if (size.bytes > 0 || size.isPartial) this.#sizes.set(text, size);
    else this.#sizes.delete(text);
  }
}
