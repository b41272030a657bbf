import type { Socket } from "node:net";
import type { SocketReader } from "./onread-socket.ts";

const bufferBytes = 65_536;

/**
 * One direction of a relay: what one socket reads is written to the other from where it was read, without a copy. A
 * buffer belongs to a write until the kernel has all of it, so there are two: one may be held while reads go to the
 * other. While the far side is behind, what is still read is copied, so that many small reads cost what they weigh.
 */
export class RelayDirection implements SocketReader {
  #buffer: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #spare: Buffer | undefined;
  #source: Socket | undefined;
  #target: Socket | undefined;

  /** Joins the two ends. What the source reads before is refused, so join it in the turn in which it is made. */
  join(source: Socket, target: Socket): void {
    this.#source = source;
    this.#target = target;
    target.on("drain", () => source.resume());
    source.on("end", () => target.end());
    // Reported once, by "close", which follows; a reset goes on as one, for an end would look like the whole.
    source.on("error", () => {});
    source.on("close", (hadError) => (hadError ? target.resetAndDestroy() : target.destroySoon()));
  }

  nextBuffer(): Buffer {
    return this.#buffer;
  }

  take(length: number): boolean {
    const target = this.#target;
    if (!target?.writable) {
      this.#source?.destroy();
      return false;
    }
    const bytes = this.#buffer.subarray(0, length);
    if (target.writableLength > 0) target.write(Buffer.from(bytes));
    else {
      target.write(bytes);
      if (target.writableLength > 0) this.#swap();
    }
    return !target.writableNeedDrain;
  }

  /** Nothing was waiting before this write, so the other buffer has been let go. */
  #swap(): void {
    const free = this.#spare ?? Buffer.allocUnsafeSlow(bufferBytes);
    this.#spare = this.#buffer;
    this.#buffer = free;
  }
}
