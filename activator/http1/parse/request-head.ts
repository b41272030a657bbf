import { byte } from "./byte-classes.ts";
import { FieldSection } from "./field-section.ts";
import { connectionOption, type Framing, MessageFacts } from "./message-facts.ts";

/** The four forms of RFC 9112 3.2: a path, a whole URI, `host:port` of CONNECT, and the `*` of OPTIONS. */
export type TargetForm = "origin" | "absolute" | "authority" | "asterisk";

/** The head of a valid request. Valid as long as its `FieldSection`. */
export class RequestHead extends FieldSection {
  method = "";
  minorVersion: 0 | 1 = 1;
  form: TargetForm = "origin";
  targetStart = 0;
  targetEnd = 0;
  /** Authority of an absolute or authority-form target; empty otherwise. */
  authorityStart = 0;
  authorityEnd = 0;
  framing: Framing = "none";
  /** Whether another request may follow on this connection (RFC 9112 9.3). */
  keepsAlive = true;
  readonly facts = new MessageFacts();

  /** Forgets the last head: a parser reads the heads of many connections. Until it is read, everything is absent at `at`. */
  clear(at: number): void {
    this.method = "";
    this.minorVersion = 1;
    this.form = "origin";
    this.targetStart = at;
    this.targetEnd = at;
    this.authorityStart = at;
    this.authorityEnd = at;
    this.framing = "none";
    this.keepsAlive = true;
    this.facts.clear();
  }

  /** The target as it was sent, one character per byte. */
  get target(): string {
    return this.text(this.targetStart, this.targetEnd);
  }

  /** Path and query of an origin or absolute-form target, raw; `*` and authorities as they are. */
  get path(): string {
    if (this.form !== "absolute") return this.target;
    if (this.method === "OPTIONS" && this.authorityEnd === this.targetEnd) return "*"; // RFC 9112 3.2.4
    const path = this.text(this.authorityEnd, this.targetEnd);
    return path.charCodeAt(0) === byte.slash ? path : `/${path}`;
  }

  /** The Host field as it was sent, `""` without one (HTTP/1.0). */
  get host(): string {
    return this.facts.host < 0 ? "" : this.value(this.facts.host);
  }

  /** Bytes of a body whose framing is `length`. */
  get contentLength(): number {
    return Math.max(this.facts.contentLength, 0);
  }

  /** Whether the client asks for an upgrade: both the field and the option, and not in HTTP/1.0 (RFC 9110 7.8). */
  get asksUpgrade(): boolean {
    return this.minorVersion === 1 && this.facts.hasUpgrade && this.facts.has(connectionOption.upgrade);
  }

  /** A copy that owns its bytes. */
  keep(): RequestHead {
    const kept = new RequestHead();
    kept.copyFrom(this);
    kept.method = this.method;
    kept.minorVersion = this.minorVersion;
    kept.form = this.form;
    kept.targetStart = this.targetStart;
    kept.targetEnd = this.targetEnd;
    kept.authorityStart = this.authorityStart;
    kept.authorityEnd = this.authorityEnd;
    kept.framing = this.framing;
    kept.keepsAlive = this.keepsAlive;
    kept.facts.copyFrom(this.facts);
    return kept;
  }
}
