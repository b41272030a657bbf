import { clientView } from "../headers/base-path.ts";
import { ownFields } from "../headers/own-fields.ts";
import { type BodyParts, type BodyProgress, relayBody } from "../http1/frame-body.ts";
import type { ResponseHead } from "../http1/parse/response-head.ts";
import type { PodConnection } from "../http1/proxy/pod-connection.ts";
import type { ResponseRules } from "../proxy-interface.ts";
import type { HeaderPair } from "../request.ts";
import type { StreamExchange } from "./front/stream-exchange.ts";
import { responseFields, trailersOf } from "./proxy/response-fields.ts";

/** A status whose response has no content in HTTP/2 either, whatever the sandbox sends (RFC 9110, 15.3.6). */
const resetContent = 205;

const contentFields: ReadonlySet<string> = new Set(["content-length", "content-type", "content-encoding"]);

/** Forwards one response of a sandbox to the stream, head, body and trailers. */
export class ResponseRelay implements BodyParts {
  readonly #exchange: StreamExchange;
  readonly #pod: PodConnection;
  readonly #dropsBody: boolean;
  /** The data of the current read, copied because the read buffer is shared. */
  #data: Buffer = noBytes;
  #dataLength = 0;
  readonly #trailers: HeaderPair[] = [];
  /** Whether the connection to the Pod may serve another request. */
  readonly keepsAlive: boolean;
  /** The value of Keep-Alive. */
  readonly keepAlive: string | undefined;

  constructor(head: ResponseHead, exchange: StreamExchange, pod: PodConnection, how: ResponseRules) {
    this.#exchange = exchange;
    this.#pod = pod;
    this.#dropsBody = head.status === resetContent && head.framing !== "none";
    this.keepsAlive = head.keepsAlive;
    this.keepAlive = head.facts.hasKeepAlive ? head.valueOf("keep-alive") : undefined;
    const mayHaveTrailers = head.framing === "chunked" && !this.#dropsBody;
    const drops = this.#dropsBody ? { drops: contentFields } : {};
    exchange.begin(head.status);
    if (mayHaveTrailers) exchange.endWith(this.#trailers);
    const hasNoBody = head.framing === "none" || this.#dropsBody;
    const view = clientView(exchange.head, how);
    const fields = responseFields(head, { keepsTrailer: mayHaveTrailers, ...drops, view });
    exchange.respond([...fields, ...ownFields(how).flat()], hasNoBody, mayHaveTrailers);
    pod.framer.begin(head.framing, head.contentLength);
  }

  /** Forwards the bytes. */
  pass(bytes: Buffer, start: number, end: number): BodyProgress {
    this.#data = Buffer.allocUnsafeSlow(end - start);
    this.#dataLength = 0;
    const progress = relayBody(this.#pod.framer, bytes, start, end, false, this);
    if (progress === "complete") this.#end();
    else this.#send();
    return progress;
  }

  /** The sandbox ended its side. Returns whether that completes the response. */
  finish(): boolean {
    if (!this.#pod.framer.finish()) return false;
    this.#end();
    return true;
  }

  /** Whether the client takes more now. */
  get takesMore(): boolean {
    return this.#exchange.out.takesMore;
  }

  part(bytes: Buffer, from: number, to: number): void {
    bytes.copy(this.#data, this.#dataLength, from, to);
    this.#dataLength += to - from;
  }

  #send(): void {
    const data = this.#takeData();
    if (data) this.#exchange.out.write(data);
  }

  #end(): void {
    const { framer } = this.#pod;
    if (framer.trailers) this.#trailers.push(...trailersOf(framer.trailers));
    framer.dropTrailers();
    const data = this.#takeData();
    const { stream, out } = this.#exchange;
    if (stream.writableEnded) return;
    if (data) out.write(data);
    out.end();
  }

  /** The data of the current read, if it is forwarded. */
  #takeData(): Buffer | undefined {
    const data = this.#data.subarray(0, this.#dataLength);
    this.#data = noBytes;
    this.#dataLength = 0;
    if (data.length === 0 || this.#dropsBody) return undefined;
    this.#exchange.bytesOut += data.length;
    this.#exchange.bytesArrived();
    return data;
  }
}

const noBytes = Buffer.alloc(0);
