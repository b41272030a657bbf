import type { Room } from "./decide/observed.ts";
import { readKey } from "./store/image-key.ts";

/** What captures in progress will take of the room, and what images that go will free. By the text of an image's key. */
export class Rooms {
  readonly #promised = new Map<string, number>();
  readonly #going = new Map<string, number>();
  #untakenBytes = 0;

  /** The promises of now, for a look that takes a while. */
  promises(): ReadonlyMap<string, number> {
    return new Map(this.#promised);
  }

  promise(text: string, bytes: number): void {
    this.#promised.set(text, bytes);
  }

  /**
   * A capture for which images of other namespaces go. They are whole, so they may be more than it needs. The rest is for later captures: if other
   * files have taken it meanwhile, no more images go for them.
   */
  evict(ofOthersBytes: number): void {
    this.#untakenBytes += ofOthersBytes;
  }

  /** A capture begins. */
  take(bytes: number): void {
    this.#untakenBytes = Math.max(0, this.#untakenBytes - bytes);
  }

  withdraw(text: string): void {
    this.#promised.delete(text);
  }

  /** The image goes, and its files are still there. */
  goes(text: string, bytes: number): void {
    this.#going.set(text, bytes);
  }

  isGone(text: string): void {
    this.#going.delete(text);
  }

  isGoing(text: string): boolean {
    return this.#going.has(text);
  }

  /** What images that go will free, by namespace. */
  going(): ReadonlyMap<string, number> {
    return addByNamespace(this.#going);
  }

  /** Also without the bytes of captures that have ended while this one looked: it may not have seen their images. */
  beside(text: string, room: Room, before: ReadonlyMap<string, number>): Room {
    const others = new Map([...before, ...this.#promised].filter(([other]) => other !== text));
    const promisedBytes = [...others.values()].reduce((sum, bytes) => sum + bytes, 0);
    return {
      usedBytes: room.usedBytes + promisedBytes,
      freeBytes: room.freeBytes - promisedBytes,
      byNamespace: addByNamespace(others, room.byNamespace),
      untakenBytes: this.#untakenBytes,
    };
  }
}

function addByNamespace(bytes: ReadonlyMap<string, number>, before: ReadonlyMap<string, number> = new Map()) {
  const sums = new Map(before);
  for (const [text, each] of bytes) {
    const { namespace } = readKey(text);
    sums.set(namespace, (sums.get(namespace) ?? 0) + each);
  }
  return sums;
}
