import { byte, isDigit, textBytes } from "./byte-classes.ts";
import { connectionOption, type Framing } from "./message-facts.ts";
import type { Refusal } from "./refusals.ts";
import { ResponseHead } from "./response-head.ts";
import { firstStage, type SectionLimits, SectionReader } from "./section-reader.ts";
import { readVersion, versionLength } from "./version.ts";

/** The facts of the request that a response depends on. CONNECT is never sent. */
export interface AnsweredRequest {
  readonly isHead: boolean;
  readonly askedUpgrade: boolean;
}

/** Larger than for requests: an application may set many cookies at once. */
const responseHeadLimits: SectionLimits = { sectionBytesMax: 65_536, fieldsMax: 256 };

const plainRequest: AnsweredRequest = { isHead: false, askedUpgrade: false };

const version = firstStage;
const versionSpace = 1;
const statusDigits = 2;
const statusEnd = 3;
const reason = 4;
const lineLf = 5;

/** Reads the heads of the responses on one connection, interim ones too, one after the other. */
export class ResponseHeadParser extends SectionReader<ResponseHead> {
  #answers = plainRequest;
  #digits = 0;

  constructor(limits: SectionLimits = responseHeadLimits) {
    super(new ResponseHead(), limits);
  }

  get head(): ResponseHead {
    return this.section;
  }

  /** Sets the request that the next responses answer, up to and including the final one. */
  expect(request: AnsweredRequest): void {
    this.#answers = request;
  }

  protected override beginSection(): void {
    this.section.clear(this.at);
    this.#digits = 0;
  }

  protected override judgeField(index: number): Refusal | undefined {
    const refusal = this.section.facts.note(this.section, index);
    // A Host in a response has no meaning, however often it occurs.
    return refusal === "HostRepeated" ? undefined : refusal;
  }

  protected override readStartLine(bytes: Buffer, end: number): boolean {
    if (this.at >= end) return false;
    if (this.stage === version) {
      const minor = readVersion(bytes, this.at, end);
      if (minor === "more") return false;
      if (typeof minor === "string") return this.refuse(minor);
      this.section.minorVersion = minor;
      this.pause(this.at + versionLength, versionSpace);
    }
    if (this.stage < statusEnd && !this.#readStatus(bytes, end)) return false;
    return this.#readReason(bytes, end);
  }

  #readStatus(bytes: Buffer, end: number): boolean {
    if (this.at >= end) return false;
    if (this.stage === versionSpace) {
      if (bytes[this.at] !== byte.space) return this.refuse("StartLineInvalid");
      this.pause(this.at + 1, statusDigits);
    }
    for (; this.at < end && this.#digits < 3; this.#digits++, this.at++) {
      if (!isDigit(bytes[this.at])) return this.refuse("StatusInvalid");
      this.section.status = this.section.status * 10 + (bytes[this.at] as number) - byte.zero;
    }
    if (this.#digits < 3) return false;
    if (this.section.status < 100) return this.refuse("StatusInvalid");
    this.pause(this.at, statusEnd);
    return true;
  }

  /** The space after the status is required even without a phrase (RFC 9112 4). Many servers omit it, without harm. */
  #readReason(bytes: Buffer, end: number): boolean {
    let { at } = this;
    if (at >= end) return false;
    if (this.stage === statusEnd) {
      if (bytes[at] !== byte.space && bytes[at] !== byte.cr) return this.refuse(whyNotStatus(bytes[at]));
      if (bytes[at] === byte.space) at++;
      this.section.reasonStart = at;
      this.pause(at, reason);
    }
    if (this.stage === reason) {
      while (at < end && textBytes[bytes[at] as number] === 1) at++;
      if (at >= end) return this.pause(at, reason);
      if (bytes[at] !== byte.cr) return this.refuse(bytes[at] === byte.lf ? "BareLf" : "ReasonPhraseInvalid");
      this.section.reasonEnd = at;
      this.pause(at + 1, lineLf);
    }
    if (this.at >= end) return false;
    return bytes[this.at] === byte.lf ? this.startFields(this.at + 1) : this.refuse("BareCr");
  }

  protected override judgeSection(): Refusal | undefined {
    const head = this.section;
    const { facts, status, minorVersion } = head;
    if (facts.isChunked && minorVersion === 0) return "TransferEncodingInHttp10";
    if (status === 101 && !this.#answers.askedUpgrade) return "UpgradeNotAsked"; // RFC 9110 15.2.2
    // RFC 9110 8.6 and RFC 9112 6.1: these have no body, and a server must not announce one.
    if ((status < 200 || status === 204) && (facts.isChunked || facts.contentLength > 0)) return "BodyForbidden";
    head.framing = this.#framing();
    head.keepsAlive = minorVersion === 1 || facts.has(connectionOption.keepAlive);
    if (facts.has(connectionOption.close) || head.framing === "close" || head.framing === "tunnel") {
      head.keepsAlive = false;
    }
    if (facts.authenticatesConnection) head.keepsAlive = false; // else the next client would be this one
    // Without a body they may still name a coding, and a response to HEAD need not name a length (RFC 9112 6.1, RFC 9110 8.6).
    // A server that sends a body anyway must not be able to answer the next request with it.
    const isUnsure = facts.isChunked || (this.#answers.isHead && facts.contentLength < 0 && !head.isInterim);
    if (isUnsure && head.framing === "none") head.keepsAlive = false;
    return undefined;
  }

  /** RFC 9112 6.3, in its order. */
  #framing(): Framing {
    const { status, facts } = this.section;
    if (status === 101) return "tunnel";
    if (this.#answers.isHead || status < 200 || status === 204 || status === 304) return "none";
    if (facts.isChunked) return "chunked";
    if (facts.contentLength < 0) return "close";
    return facts.contentLength > 0 ? "length" : "none";
  }
}

function whyNotStatus(code: number | undefined): Refusal {
  return code === byte.lf ? "BareLf" : "StatusInvalid";
}
