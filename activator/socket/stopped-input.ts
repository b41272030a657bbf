import type { Socket } from "node:net";
import { GatheredBytes } from "./gathered-bytes.ts";

/**
 * Gathers what Node reads from a socket while its reader has stopped. TLS passes on each record by itself, and Node
 * would keep each as an object until it has 65,536 bytes: 27 MB for records of one byte.
 */
export class StoppedInput {
  readonly #push: (bytes: Buffer | null) => boolean;
  #gathered = new GatheredBytes();
  #isStopped = true;

  constructor(socket: Socket) {
    this.#push = socket.push.bind(socket);
    socket.push = this.#pushed.bind(this);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** What came meanwhile follows what Node has kept. */
  goOn(): void {
    this.#isStopped = false;
    const bytes = this.#gathered.take();
    if (bytes) this.#push(bytes);
  }

  #pushed(bytes: Buffer | null): boolean {
    if (bytes === null) this.goOn();
    if (bytes === null || !this.#isStopped) return this.#push(bytes);
    this.#gathered.add(bytes);
    return false; // Node reads no more from the kernel
  }
}
