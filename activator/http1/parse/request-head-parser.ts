import { byte, targetBytes, tokenBytes } from "./byte-classes.ts";
import { connectionOption } from "./message-facts.ts";
import type { Refusal } from "./refusals.ts";
import { RequestHead } from "./request-head.ts";
import { judgeHost, readTarget } from "./request-target.ts";
import { firstStage, type SectionLimits, SectionReader } from "./section-reader.ts";
import { readVersion, versionLength } from "./version.ts";

export interface RequestHeadLimits extends SectionLimits {
  readonly targetBytesMax: number;
}

/** RFC 9112 3 asks for targets of 8000 bytes at least; Node, Go and nginx take heads of 16 KiB, 1 MiB and 32 KiB. */
export const requestHeadLimits: RequestHeadLimits = { sectionBytesMax: 32_768, fieldsMax: 128, targetBytesMax: 16_384 };

// The longest registered method, UPDATEREDIRECTREF, has 17.
const methodBytesMax = 32;

const start = firstStage;
const emptyLineLf = 1;
const method = 2;
const target = 3;
const version = 4;
const lineCr = 5;
const lineLf = 6;

/** Reads the heads of the requests on one connection, one after the other. */
export class RequestHeadParser extends SectionReader<RequestHead> {
  readonly #targetBytesMax: number;
  #lineStart = 0;

  constructor(limits: RequestHeadLimits = requestHeadLimits) {
    super(new RequestHead(), limits);
    this.#targetBytesMax = limits.targetBytesMax;
  }

  get head(): RequestHead {
    return this.section;
  }

  protected override beginSection(): void {
    this.#lineStart = this.at;
    this.section.clear(this.at);
  }

  protected override judgeField(index: number): Refusal | undefined {
    return this.section.facts.note(this.section, index);
  }

  protected override readStartLine(bytes: Buffer, end: number): boolean {
    if (this.at >= end) return false;
    if (this.stage <= emptyLineLf && !this.#skipEmptyLine(bytes, end)) return false;
    if (this.stage === method && !this.#readMethod(bytes, end)) return false;
    if (this.stage === target && !this.#readTarget(bytes, end)) return false;
    return this.#readVersion(bytes, end);
  }

  /** RFC 9112 2.2 asks to ignore one empty line before a request. More than one is malformed. */
  #skipEmptyLine(bytes: Buffer, end: number): boolean {
    if (this.stage === start) {
      if (bytes[this.at] === byte.lf) return this.refuse("BareLf");
      if (bytes[this.at] !== byte.cr) return this.#startMethod(this.at);
      this.pause(this.at + 1, emptyLineLf);
    }
    if (this.at >= end) return false;
    if (bytes[this.at] !== byte.lf) return this.refuse("BareCr");
    return this.#startMethod(this.at + 1);
  }

  #startMethod(at: number): true {
    this.pause(at, method);
    this.#lineStart = at;
    this.section.start = at;
    return true;
  }

  #readMethod(bytes: Buffer, end: number): boolean {
    const from = this.#lineStart;
    let { at } = this;
    while (at < end && tokenBytes[bytes[at] as number] === 1) at++;
    if (at - from > methodBytesMax) return this.refuse("MethodTooLong");
    if (at >= end) return this.pause(at, method);
    if (bytes[at] !== byte.space || at === from) return this.refuse(whyNotMethod(bytes[at], at === from));
    this.section.method = methodName(bytes, from, at);
    this.section.targetStart = at + 1;
    this.pause(at + 1, target);
    return true;
  }

  #readTarget(bytes: Buffer, end: number): boolean {
    let { at } = this;
    const from = this.section.targetStart;
    const limit = Math.min(end, from + this.#targetBytesMax);
    while (at < limit && targetBytes[bytes[at] as number] === 1) at++;
    if (at >= end) return this.pause(at, target);
    if (bytes[at] !== byte.space) {
      const tooLong = at === limit && targetBytes[bytes[at] as number] === 1;
      return this.refuse(tooLong ? "TargetTooLong" : whyNotTarget(bytes[at]));
    }
    if (at === from) return this.refuse("TargetInvalid");
    this.section.targetEnd = at;
    const refusal = readTarget(this.section);
    if (refusal !== undefined) return this.refuse(refusal);
    this.pause(at + 1, version);
    return true;
  }

  #readVersion(bytes: Buffer, end: number): boolean {
    if (this.stage === version) {
      const minor = readVersion(bytes, this.at, end);
      if (minor === "more") return false;
      if (typeof minor === "string") return this.refuse(minor);
      this.section.minorVersion = minor;
      this.pause(this.at + versionLength, lineCr);
    }
    if (this.at >= end) return false;
    if (this.stage === lineCr) {
      if (bytes[this.at] !== byte.cr) return this.refuse(bytes[this.at] === byte.lf ? "BareLf" : "StartLineInvalid");
      this.pause(this.at + 1, lineLf);
    }
    if (this.at >= end) return false;
    return bytes[this.at] === byte.lf ? this.startFields(this.at + 1) : this.refuse("BareCr");
  }

  protected override judgeSection(): Refusal | undefined {
    const head = this.section;
    const { facts } = head;
    const refusal = judgeHost(head);
    if (refusal !== undefined) return refusal;
    if (facts.isChunked && head.minorVersion === 0) return "TransferEncodingInHttp10";
    head.framing = facts.isChunked ? "chunked" : facts.contentLength > 0 ? "length" : "none";
    head.keepsAlive = head.minorVersion === 1 || facts.has(connectionOption.keepAlive);
    if (facts.has(connectionOption.close)) head.keepsAlive = false;
    return head.method === "CONNECT" || head.method === "TRACE" ? judgeBodiless(head) : undefined;
  }
}

/** The body of CONNECT has no meaning (RFC 9110 9.3.6), and a client must not send one with TRACE (9.3.8). */
function judgeBodiless(head: RequestHead): Refusal | undefined {
  if (head.framing !== "none") return "BodyForbidden";
  if (head.method === "TRACE") return undefined;
  head.framing = "tunnel";
  head.keepsAlive = false;
  return undefined;
}

function whyNotMethod(code: number | undefined, empty: boolean): Refusal {
  if (code === byte.lf) return "BareLf";
  return code === byte.cr ? (empty ? "EmptyLinesBeforeMessage" : "StartLineInvalid") : "MethodInvalid";
}

function whyNotTarget(code: number | undefined): Refusal {
  if (code === byte.lf) return "BareLf";
  return code === byte.cr ? "StartLineInvalid" : "TargetInvalid"; // CR: a request of HTTP/0.9, or one cut short
}

const commonMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** Saves a string per request for the common methods. */
function methodName(bytes: Buffer, from: number, to: number): string {
  for (const name of commonMethods) {
    if (name.length === to - from && bytes[from] === name.charCodeAt(0) && isText(bytes, from, name)) return name;
  }
  return bytes.toString("latin1", from, to);
}

function isText(bytes: Buffer, from: number, text: string): boolean {
  for (let i = 1; i < text.length; i++) if (bytes[from + i] !== text.charCodeAt(i)) return false;
  return true;
}
