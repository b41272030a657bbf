import { FieldSection } from "./field-section.ts";
import { type Framing, MessageFacts } from "./message-facts.ts";

/** The head of a response, found sound. Valid as long as a `FieldSection` is. */
export class ResponseHead extends FieldSection {
  minorVersion: 0 | 1 = 1;
  status = 0;
  reasonStart = 0;
  reasonEnd = 0;
  framing: Framing = "none";
  /** May another request be sent on this connection (RFC 9112 9.3)? */
  keepsAlive = true;
  readonly facts = new MessageFacts();

  /** The reason phrase as it was sent, one character per byte; often `""`. */
  get reason(): string {
    return this.text(this.reasonStart, this.reasonEnd);
  }

  /** Bytes of a body whose framing is `length`. */
  get contentLength(): number {
    return Math.max(this.facts.contentLength, 0);
  }

  /** True for a 1xx that another head of the same response follows. */
  get isInterim(): boolean {
    return this.status < 200 && this.status !== 101;
  }

  /** A copy that does not need the bytes, for as long as one likes. */
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
