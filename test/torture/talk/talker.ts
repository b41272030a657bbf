import type { Duplex } from "node:stream";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import type { ByteCheck } from "../bytes.ts";
import { drained } from "../link.ts";
import type { SpeakerPlan } from "../plan.ts";
import type { Speech } from "./speech.ts";

export interface TalkerOptions {
  readonly plan: SpeakerPlan;
  readonly speech: Speech;
  /** The bytes of the stream that were sent before. */
  readonly sent: number;
  readonly hears: ByteCheck;
  /** The bytes that the other side sends in total. */
  readonly toHear: number;
  /** Resets the connection. */
  readonly cut: () => void;
}

/** One side of a conversation in which both sides may send at the same time. The received bytes are passed to `feed`. */
export class Talker {
  onEnd: () => void = () => {};
  onReset: () => void = () => {};
  onSent: () => void = () => {};
  readonly #socket: Duplex;
  readonly #options: TalkerOptions;
  #sent: number;
  #heardEnd = false;
  #allSent = false;

  constructor(socket: Duplex, options: TalkerOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#sent = options.sent;
  }

  start(): void {
    void this.#speak();
  }

  feed(bytes: Buffer): void {
    this.#options.hears.take(this.#options.speech.decode(bytes));
    this.#resetIfDue();
    this.#endIfDue();
  }

  ended(): void {
    this.#heardEnd = true;
    this.onEnd();
    this.#endIfDue();
  }

  async #speak(): Promise<void> {
    const { plan, speech } = this.#options;
    const { pieceBytes, everyMs } = plan.sending;
    while (this.#sent < plan.bytes && this.#socket.writable && !this.#resetIfDue()) {
      const end = Math.min(plan.bytes, this.#sent + pieceBytes, Math.max(plan.resetAt ?? plan.bytes, this.#sent + 1));
      const takesMore = this.#socket.write(speech.encode(this.#sent, end));
      this.#sent = end;
      if (!takesMore) await drained(this.#socket);
      else await (everyMs > 0 ? delay(everyMs) : turn());
    }
    if (this.#sent < plan.bytes || this.#resetIfDue()) return;
    this.#allSent = true;
    this.onSent();
    this.#endIfDue();
  }

  #resetIfDue(): boolean {
    const { plan, hears } = this.#options;
    if (plan.resetAt === undefined || this.#sent + hears.length < plan.resetAt) return false;
    if (this.#socket.destroyed) return true;
    this.onReset();
    this.#options.cut();
    return true;
  }

  #endIfDue(): void {
    const { plan, hears, toHear, speech } = this.#options;
    if (!this.#allSent || !this.#socket.writable) return;
    const isDue = plan.ends === "sent" || this.#heardEnd || (plan.ends === "heardAll" && hears.length >= toHear);
    if (!isDue) return;
    if (speech.last.length > 0) this.#socket.write(speech.last);
    this.#socket.end();
  }
}
