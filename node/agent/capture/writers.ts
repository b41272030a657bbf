/** A capture in progress. */
export interface Writer {
  /** What it was expected to take. */
  readonly promisedBytes: number;
  /** What it has written. */
  readonly writtenBytes: () => Promise<number>;
}

/** `Beyond`: it has written more than it promised. `Other`: the room is short all the same, and no capture has. */
export type WhyToEnd = "Beyond" | "Other";

/** All captures in progress, until what they have written is removed or whole. */
export class Writers {
  readonly #all = new Set<Writer>();
  #ending: Writer | undefined;

  add(writer: Writer): Disposable {
    this.#all.add(writer);
    const remove = () => {
      this.#all.delete(writer);
      if (this.#ending === writer) this.#ending = undefined;
    };
    return { [Symbol.dispose]: remove };
  }

  /**
   * Why this one ends for want of room, if it does: the one that is most beyond its promise, or if none is, the largest. The others look again
   * when its room is free. One whose files cannot be seen now counts as one that has written nothing.
   */
  async whyToEnd(writer: Writer): Promise<WhyToEnd | undefined> {
    const sizes = await Promise.all(
      [...this.#all].map(async (of) => {
        const bytes = await of.writtenBytes().catch(() => 0);
        return { of, bytes, beyondBytes: Math.max(0, bytes - of.promisedBytes) };
      }),
    );
    const own = sizes.find(({ of }) => of === writer);
    const why = own && own.beyondBytes > 0 ? "Beyond" : "Other";
    if (this.#ending) return this.#ending === writer ? why : undefined;
    const [worst] = sizes.sort((a, b) => b.beyondBytes - a.beyondBytes || b.bytes - a.bytes);
    if (worst && worst.of !== writer) return undefined;
    this.#ending = writer;
    return why;
  }
}
