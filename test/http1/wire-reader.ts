import { BodyFramer } from "../../activator/http1/parse/body-framer.ts";
import type { FieldSection } from "../../activator/http1/parse/field-section.ts";
import type { Framing } from "../../activator/http1/parse/message-facts.ts";
import type { Refusal } from "../../activator/http1/parse/refusals.ts";
import { RequestHeadParser } from "../../activator/http1/parse/request-head-parser.ts";
import { type AnsweredRequest, ResponseHeadParser } from "../../activator/http1/parse/response-head-parser.ts";
import { uncounted } from "../../activator/http1/parse/section-reader.ts";

export type Side = "request" | "response";

/** A message with everything that another reader could read differently. */
export interface Message {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly reason: string;
  readonly minorVersion: number;
  readonly fields: readonly string[];
  readonly framing: Framing;
  readonly keepsAlive: boolean;
  readonly asksUpgrade: boolean;
  readonly body: string;
  readonly trailers: readonly string[];
  /** The position of the message in the stream, with an empty line before it. */
  readonly start: number;
  readonly end: number;
}

export interface Reading {
  readonly messages: readonly Message[];
  readonly refusal: Refusal | undefined;
  /** The start of the first incomplete message. */
  readonly end: number;
  /** True if the stream ended within a message. */
  readonly isCut: boolean;
}

export function fieldsOf(section: FieldSection | undefined): readonly string[] {
  if (!section) return [];
  return Array.from({ length: section.fieldCount }, (_, i) => [section.name(i), section.value(i)]).flat();
}

/**
 * Reads the data of one connection in pieces of any size, and stops after a rejection or
 * the last message.
 */
export class WireReader {
  readonly messages: Message[] = [];
  refusal: Refusal | undefined;
  readonly #request: RequestHeadParser | undefined;
  readonly #response: ResponseHeadParser | undefined;
  readonly #framer = new BodyFramer(uncounted);
  #head: Omit<Message, "body" | "trailers" | "end"> | undefined;
  #body: string[] = [];
  #start = 0;
  #place = 0;
  #isOver = false;

  constructor(side: Side, answers?: AnsweredRequest) {
    if (side === "request") this.#request = new RequestHeadParser();
    else this.#response = new ResponseHeadParser();
    if (answers) this.#response?.expect(answers);
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#isOver) at = this.#head ? this.#pushBody(bytes, at) : this.#pushHead(bytes, at);
  }

  /** Call it when the other side has closed. */
  finish(): Reading {
    if (this.#head && this.#framer.finish()) this.#endMessage();
    const { messages, refusal } = this;
    const isIdle = this.#head === undefined && ((this.#request ?? this.#response)?.isIdle ?? true);
    return { messages, refusal, end: this.#start, isCut: refusal === undefined && !isIdle };
  }

  #pushHead(bytes: Buffer, at: number): number {
    const parser = this.#request ?? this.#response;
    const step = parser?.push(bytes, at, bytes.length, uncounted);
    if (step === "refused") this.#refuse(parser?.refusal);
    if (step !== "complete" || !parser) {
      this.#place += bytes.length - at;
      return bytes.length;
    }
    this.#place += parser.consumedTo - at;
    this.#head = this.#seen();
    this.#framer.begin(this.#head.framing, parser.head.contentLength);
    if (this.#framer.isComplete || this.#head.framing === "tunnel") this.#endMessage();
    return parser.consumedTo;
  }

  #pushBody(bytes: Buffer, start: number): number {
    const framer = this.#framer;
    let step = framer.next(bytes, start, bytes.length);
    for (; step === "data" || step === "omit"; step = framer.next(bytes, framer.at, bytes.length)) {
      if (step === "data") this.#body.push(bytes.toString("latin1", framer.from, framer.to));
    }
    this.#place += framer.at - start;
    if (step === "refused") this.#refuse(framer.refusal);
    if (step === "complete") this.#endMessage();
    return framer.at;
  }

  #refuse(refusal: Refusal | undefined): void {
    this.refusal = refusal;
    this.#isOver = true;
  }

  #seen(): Omit<Message, "body" | "trailers" | "end"> {
    const request = this.#request?.head;
    const response = this.#response?.head;
    const head = request ?? response;
    return {
      method: request?.method ?? "",
      target: request?.target ?? "",
      status: response?.status ?? 0,
      reason: response?.reason ?? "",
      minorVersion: head?.minorVersion ?? 1,
      fields: fieldsOf(head),
      framing: head?.framing ?? "none",
      keepsAlive: head?.keepsAlive ?? false,
      asksUpgrade: request?.asksUpgrade ?? false,
      start: this.#start,
    };
  }

  #endMessage(): void {
    if (!this.#head) return;
    const trailers = fieldsOf(this.#framer.trailers);
    this.messages.push({ ...this.#head, body: this.#body.join(""), trailers, end: this.#place });
    this.#isOver = !this.#head.keepsAlive || this.#head.asksUpgrade;
    this.#head = undefined;
    this.#body = [];
    this.#start = this.#place;
  }
}

/** Reads a stream in pieces that end at the positions in `cuts`, in order. */
export function readWire(side: Side, wire: Buffer, answers?: AnsweredRequest, cuts: readonly number[] = []): Reading {
  const reader = new WireReader(side, answers);
  let from = 0;
  for (const to of [...cuts, wire.length]) {
    // A separate buffer for each piece, so that a read beyond its end or after its time is detected.
    reader.push(Buffer.from(wire.subarray(from, to)));
    from = to;
  }
  return reader.finish();
}

/** One line for each event, for readable expectations. */
export function summary({ messages, refusal, isCut }: Reading): readonly string[] {
  const lines = messages.map(({ method, target, status, body, trailers }) => {
    const start = method === "" ? `${status}` : `${method} ${target}`;
    return [start, body && `<${body}>`, trailers.length > 0 && `trailers ${trailers.join(" ")}`]
      .filter(Boolean)
      .join(" ");
  });
  if (refusal !== undefined) lines.push(refusal);
  if (isCut) lines.push("cut");
  return lines;
}
