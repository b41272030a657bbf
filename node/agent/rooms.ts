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

  /** What images that go will free; with a namespace: those of it. */
  goingBytes(namespace?: string): number {
    return sumOf(this.#going, namespace);
  }

  /** Also without the bytes of captures that have ended while this one looked: it may not have seen their images. */
  beside(text: string, room: Room, before: ReadonlyMap<string, number>): Room {
    const others = new Map([...before, ...this.#promised].filter(([other]) => other !== text));
    const promisedBytes = sumOf(others);
    return {
      usedBytes: room.usedBytes + promisedBytes,
      freeBytes: room.freeBytes - promisedBytes,
      namespaceBytes: room.namespaceBytes + sumOf(others, readKey(text).namespace),
      untakenBytes: this.#untakenBytes,
    };
  }
}

function sumOf(bytes: ReadonlyMap<string, number>, namespace?: string): number {
  const counted = [...bytes].filter(([text]) => namespace === undefined || readKey(text).namespace === namespace);
  return counted.reduce((sum, [, each]) => sum + each, 0);
}
