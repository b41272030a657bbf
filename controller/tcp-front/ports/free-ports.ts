import { tcpFrontPorts } from "../../../api/between-programs/tcp-front.ts";

const { first, last } = tcpFrontPorts;
const range = last - first + 1;
const wordBits = 32;

/** The free ports of the range. Looking for the next one costs little, however few there are. */
export class FreePorts {
  /** A bit for each port: whether it is free. */
  readonly #words = new Uint32Array(Math.ceil(range / wordBits));
  #size = 0;

  constructor() {
    for (let port = first; port <= last; port += 1) this.set(port, true);
  }

  get size(): number {
    return this.#size;
  }

  /** Ports outside the range are never free. */
  set(port: number, isFree: boolean): void {
    if (port < first || port > last || this.#has(port) === isFree) return;
    const at = port - first;
    const word = Math.floor(at / wordBits);
    this.#words[word] = (this.#words[word] ?? 0) ^ bitOf(at);
    this.#size += isFree ? 1 : -1;
  }

  /** At most so many, from a port on, round the range. */
  next(count: number, from: number): readonly number[] {
    const found: number[] = [];
    if (this.#size === 0) return found;
    for (const [start, end] of [[from, last] as const, [first, from - 1] as const]) {
      for (let port = this.#nextFrom(start); port <= end && found.length < count; port = this.#nextFrom(port + 1)) {
        found.push(port);
      }
    }
    return found;
  }

  #has(port: number): boolean {
    const at = port - first;
    return ((this.#words[Math.floor(at / wordBits)] ?? 0) & bitOf(at)) !== 0;
  }

  /** The first free port from this one on; Infinity: there is none up to the end of the range. */
  #nextFrom(port: number): number {
    const at = port - first;
    let word = Math.floor(at / wordBits);
    let bits = (this.#words[word] ?? 0) & -bitOf(at);
    while (bits === 0 && word < this.#words.length - 1) {
      word += 1;
      bits = this.#words[word] ?? 0;
    }
    if (bits === 0) return Number.POSITIVE_INFINITY;
    const lowest = wordBits - 1 - Math.clz32(bits & -bits);
    return first + word * wordBits + lowest;
  }
}

const bitOf = (at: number): number => 1 << (at % wordBits);
