import { FieldSection } from "./field-section.ts";
import { type Framing, MessageFacts } from "./message-facts.ts";

/** The head of a valid response. Valid as long as its `FieldSection`. */
export class ResponseHead extends FieldSection {
  minorVersion: 0 | 1 = 1;
  status = 0;
  reasonStart = 0;
  reasonEnd = 0;
  framing: Framing = "none";
  /** Whether another request may be sent on this connection (RFC 9112 9.3). */
  keepsAlive = true;
  readonly facts = new MessageFacts();

  /** Forgets the last head. Until the next is read, everything is absent at `at`. */
  clear(at: number): void {
    this.minorVersion = 1;
    this.status = 0;
    this.reasonStart = at;
    this.reasonEnd = at;
    this.framing = "none";
    this.keepsAlive = true;
    this.facts.clear();
  }

  /** The reason phrase as it was sent, one character per byte; often `""`. */
  get reason(): string {
    return this.text(this.reasonStart, this.reasonEnd);
  }

  /** Bytes of a body whose framing is `length`. */
  get contentLength(): number {
    return Math.max(this.facts.contentLength, 0);
  }

  /** Whether it is a 1xx, so another head of the same response follows. */
  get isInterim(): boolean {
    return this.status < 200 && this.status !== 101;
  }

  /** A copy that owns its bytes. */
  keep(): ResponseHead {
    const kept = new ResponseHead();
    kept.copyFrom(this);
    kept.minorVersion = this.minorVersion;
    kept.status = this.status;
    kept.reasonStart = this.reasonStart;
    kept.reasonEnd = this.reasonEnd;
    kept.framing = this.framing;
    kept.keepsAlive = this.keepsAlive;
    kept.facts.copyFrom(this.facts);
    return kept;
  }
}

/** Whether it is an event stream of unknown length. A known length ends by itself, so few responses are searched for the field. */
export function isEventStream(head: ResponseHead): boolean {
  if (head.framing === "length" || head.framing === "none") return false;
  return /^text\/event-stream\b/i.test(head.valueOf("content-type") ?? "");
}
