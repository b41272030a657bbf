import { createRequire } from "node:module";
import type { Message, Side } from "./wire-reader.ts";

/** The parser of `node:http`, with the parts that are used here. */
interface NodeParser {
  [callback: number]: (...args: never[]) => unknown;
  initialize(type: number, resource: object, headBytesMax: number, lenientFlags: number): void;
  execute(bytes: Buffer): number | Error;
  finish(): Error | undefined;
}

interface NodeParserType {
  new (): NodeParser;
  readonly REQUEST: number;
  readonly RESPONSE: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
  readonly kLenientNone: number;
}

interface NodeHttpInternals {
  readonly HTTPParser: NodeParserType;
  readonly methods: readonly string[];
}

// There is no public API for llhttp alone, and over sockets a million messages would take an hour.
const { HTTPParser, methods }: NodeHttpInternals = createRequire(import.meta.url)("_http_common");
const knownMethods: ReadonlySet<string> = new Set(methods);

/** The result of llhttp for some bytes. */
interface Sight {
  head: readonly unknown[];
  url: string;
  fields: string[];
  trailers: string[];
  body: string;
  completed: number;
}

const noSight = (): Sight => ({ head: [], url: "", fields: [], trailers: [], body: "", completed: 0 });

/** llhttp as Node compiles it, without any leniency. */
export class Llhttp {
  #sight = noSight();
  readonly #parser = new HTTPParser();
  #answerToHead = 0;

  constructor() {
    const parser = this.#parser;
    parser[HTTPParser.kOnHeaders] = (fields: string[], url: string) => {
      const sight = this.#sight;
      (sight.head.length > 0 ? sight.trailers : sight.fields).push(...fields);
      sight.url ||= url;
    };
    parser[HTTPParser.kOnHeadersComplete] = (...head: unknown[]) => {
      const sight = this.#sight;
      sight.head = head;
      sight.fields.push(...((head[2] as string[] | null) ?? []));
      sight.url ||= (head[4] as string | null) ?? "";
      return this.#answerToHead;
    };
    parser[HTTPParser.kOnBody] = (bytes: Buffer) => {
      this.#sight.body += bytes.toString("latin1");
    };
    parser[HTTPParser.kOnMessageComplete] = () => {
      this.#sight.completed++;
    };
  }

  /** The difference for a message that we accepted, in one line; undefined if there is none. */
  complaint(side: Side, message: Message, bytes: Buffer): string | undefined {
    this.#begin(side, message);
    const input = withoutExceptions(message, bytes);
    const endsWithStream = message.framing === "close";
    // The message must be incomplete without its last byte, and complete with it.
    const early = this.#parser.execute(input.subarray(0, -1));
    if (early instanceof Error) return `llhttp refuses: ${reasonOf(early)}`;
    if (this.#sight.completed > 0) return "llhttp ends it earlier";
    const last = this.#parser.execute(input.subarray(-1));
    if (last instanceof Error) return `llhttp refuses its end: ${reasonOf(last)}`;
    if (endsWithStream) this.#parser.finish();
    if (this.#sight.completed !== 1) return "llhttp ends it later";
    return difference(side, message, this.#sight);
  }

  /** True if llhttp reports no error for the bytes, which may be less or more than one message. */
  accepts(side: Side, bytes: Buffer): boolean {
    this.#begin(side);
    const read = this.#parser.execute(bytes);
    // Node reports no error in the body of a request for an upgrade; it only stops reading.
    return read === bytes.length || (typeof read === "number" && this.#sight.completed > 0);
  }

  #begin(side: Side, message?: Message): void {
    this.#sight = noSight();
    this.#answerToHead = answerToHead(side, message);
    const type = side === "request" ? HTTPParser.REQUEST : HTTPParser.RESPONSE;
    this.#parser.initialize(type, {}, 1_048_576, HTTPParser.kLenientNone);
  }
}

/** The flag with which node:http tells llhttp the kind of response to expect: 1 for no body, 2 for an upgrade. */
function answerToHead(side: Side, message: Message | undefined): number {
  if (side === "request" || !message) return 0;
  if (message.framing === "tunnel") return 2;
  return message.framing === "none" ? 1 : 0;
}

/**
 * Replaces the two things that we accept and llhttp does not. Neither changes where a message
 * ends: methods that llhttp does not know, and bytes above ASCII in a target.
 */
function withoutExceptions(message: Message, bytes: Buffer): Buffer {
  if (message.method === "") return bytes;
  const input = Buffer.from(bytes.toString("latin1"), "latin1");
  const targetStart = input.indexOf(" ") + 1;
  for (let at = targetStart; at < targetStart + message.target.length; at++)
    if (input.readUInt8(at) >= 0x80) input[at] = 0x78;
  if (knownMethods.has(message.method)) return input;
  const methodStart = targetStart - 1 - message.method.length;
  return Buffer.concat([Buffer.from("POST"), input.subarray(methodStart + message.method.length)]);
}

function difference(side: Side, message: Message, sight: Sight): string | undefined {
  const [major, minor, , method, , status, phrase, , keepsAlive] = sight.head;
  const wanted: Record<string, readonly [unknown, unknown]> = {
    version: [`1.${message.minorVersion}`, `${major}.${minor}`],
    fields: [message.fields.join("\n"), sight.fields.join("\n")],
    body: [message.body, sight.body],
    trailers: [message.trailers.join("\n"), sight.trailers.join("\n")],
    // We may close where llhttp would continue, but not vice versa.
    keepsAlive: [true, !message.keepsAlive || keepsAlive],
  };
  if (side === "request") {
    const name = knownMethods.has(message.method) ? message.method : "POST";
    wanted["method"] = [name, methods[method as number]];
    wanted["target"] = [message.target.replaceAll(/[\x80-\xff]/g, "x"), sight.url];
  } else {
    wanted["status"] = [message.status, status];
    wanted["phrase"] = [message.reason, phrase];
  }
  for (const [what, [ours, theirs]] of Object.entries(wanted)) {
    if (ours !== theirs) return `${what}: we saw ${JSON.stringify(ours)}, llhttp ${JSON.stringify(theirs)}`;
  }
  return undefined;
}

function reasonOf(error: Error): string {
  return "reason" in error ? String(error.reason) : error.message;
}
