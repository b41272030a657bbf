import type { Socket } from "node:net";
import type { SocketReader } from "./onread-socket.ts";

const bufferBytes = 65_536;

/**
 * One direction of a relay: what one socket reads is written to the other from where it was read. A buffer belongs to
 * a write until the kernel has all of it; the next read then goes to a buffer of its own, and reading stops until the
 * far side drains. So a direction has one buffer while all is well, and at most two.
 */
export class RelayDirection implements SocketReader {
  #buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #target: Socket | undefined;
  #source: Socket | undefined;

  /** Joins the two ends; the source must not have begun to read. */
  join(source: Socket, target: Socket): void {
    this.#source = source;
    this.#target = target;
    target.on("drain", () => source.resume());
    source.on("end", () => target.end());
  }

  nextBuffer(): Buffer {
    // Bytes that are still to be written lie in the old buffer.
    if (this.#target && this.#target.writableLength > 0) this.#buffer = Buffer.allocUnsafeSlow(bufferBytes);
    return this.#buffer;
  }

  take(length: number): boolean {
    const target = this.#target;
    if (!target?.writable) {
      this.#source?.destroy();
      return false;
    }
    target.write(this.#buffer.subarray(0, length));
    // Stricter than `writableNeedDrain`: whatever is not written yet holds the buffer.
    return target.writableLength === 0;
  }
}
