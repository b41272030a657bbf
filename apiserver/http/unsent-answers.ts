import type { ServerResponse } from "node:http";
import { tooManyRequests } from "../status-errors.ts";

/** A small answer costs little, and tells a client that it asks for too much. With 5,000 connections they take 80 MiB more. */
const freeBytes = 16 * 1_024;

/** The answers of all requests that their clients have not taken yet, with a limit for all of them. */
export class UnsentAnswers {
  readonly #bytesMax: number;
  #bytes = 0;

  /** `bytesMax`: the largest answer is still sent if it is the only one. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Asked before a change: its answer cannot be refused once the change is stored.
   *
   * @throws StatusError 429 when there is no room for an answer of so many bytes.
   */
  refuseWithoutRoom(bytes: number): void {
    if (bytes <= freeBytes || this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax) return;
    throw tooManyRequests("clients have not read the answers to their requests, which take too much memory; try again");
  }

  /** Counts an answer until its response has been taken or its connection has gone. */
  add(response: ServerResponse, bytes: number): void {
    if (bytes <= freeBytes) return;
    this.#bytes += bytes;
    response.once("close", () => {
      this.#bytes -= bytes;
    });
  }
}
