import type { ClientHttp2Stream, ServerHttp2Stream } from "node:http2";
import { hiddenSymbol } from "./native-handles.ts";

/**
 * A property in which a stream of Node keeps the fields that it has sent, as long as the stream lives. Only `sentHeaders` and the like read
 * them, and nothing here uses these. They may take as much as a whole head for each of the streams that stay open.
 */
class SentFields {
  readonly #name: string;
  readonly #rest: object | undefined;
  #symbol: symbol | undefined;
  #isSought = false;

  /** `rest`: what Node needs to find there once something was sent. */
  constructor(name: string, rest?: object) {
    this.#name = name;
    this.#rest = rest;
  }

  /** Call it when such fields were sent: before, a stream may not have the property. With another Node it does nothing. */
  drop(stream: object): void {
    if (!this.#isSought) {
      this.#isSought = true;
      this.#symbol = hiddenSymbol(stream, this.#name);
    }
    if (this.#symbol) Reflect.set(stream, this.#symbol, this.#rest);
  }
}

const rawHead = new SentFields("raw-headers");
const sentHead = new SentFields("sent-headers");
const interim = new SentFields("sent-info-headers");
const trailers = new SentFields("sent-trailers", Object.freeze({})); // Node refuses to send trailers twice
const origin = new SentFields("origin");

/** Drops the fields of a response that were given to Node as an array. */
export function dropSentHead(stream: ServerHttp2Stream): void {
  rawHead.drop(stream);
}

/** Drops the fields of an interim response. */
export function dropSentInterim(stream: ServerHttp2Stream): void {
  interim.drop(stream);
}

export function dropSentTrailers(stream: ServerHttp2Stream): void {
  trailers.drop(stream);
}

/** Drops the fields of a request that were given to Node as an array. */
export function dropSentRequest(stream: ClientHttp2Stream): void {
  rawHead.drop(stream);
  sentHead.drop(stream); // made from the former if something listens to the channels of diagnostics
  origin.drop(stream);
}
