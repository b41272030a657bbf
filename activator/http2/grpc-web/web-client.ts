import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { trailerFrame, webBytes, webFields } from "../../failures/grpc-web-response.ts";
import type { ClientRequest } from "../../http1/front/client-request.ts";
import type { HeaderPair, WebForm } from "../../request.ts";
import type { StreamListener } from "../front/stream-exchange.ts";
import type { CallBodySink, CallClient } from "../grpc/call-client.ts";
import { Base64Decoder } from "./base64-decoder.ts";
import { MessageFrames } from "./message-frames.ts";
import { isGrpc, lastFields, requestFields, responseFields } from "./web-fields.ts";

/**
 * The client of a call of gRPC-Web: it turns the call into one of gRPC, and the response back. The messages of both are alike. The
 * trailers of gRPC are the last frame of the body in gRPC-Web. The request and the response may each be in base64. It has no `refuse`:
 * a browser may send a refused call again without asking its page.
 */
export class WebClient implements CallClient, CallBodySink {
  /** The same client without the form: whole bodies, and no trailers. */
  readonly #carrier: CallClient;
  readonly #form: WebForm;
  readonly #decoder: Base64Decoder | undefined;
  readonly #asked = new MessageFrames();
  readonly #answered = new MessageFrames();
  #sink: CallBodySink | undefined;
  #isSpoilt = false;
  #status = 200;
  #isGrpc = true;

  constructor(carrier: CallClient, form: WebForm) {
    this.#carrier = carrier;
    this.#form = form;
    if (form.sendsText) this.#decoder = new Base64Decoder();
  }

  get head(): ClientRequest {
    return this.#carrier.head;
  }

  get seenMs(): number {
    return this.#carrier.seenMs;
  }

  get left(): boolean {
    return this.#carrier.left;
  }

  get fields(): readonly HeaderPair[] {
    return requestFields(this.#carrier.fields, this.#form);
  }

  get bodyLength(): number {
    return this.#carrier.bodyLength;
  }

  proxiedBy(listener: StreamListener): void {
    this.#carrier.proxiedBy(listener);
  }

  pourInto(sink: CallBodySink): void {
    this.#sink = sink;
    this.#carrier.pourInto(this);
  }

  bytesArrived(): void {
    this.#carrier.bytesArrived();
  }

  readOn(): void {
    this.#carrier.readOn();
  }

  discard(): void {
    this.#carrier.discard();
  }

  // The request.

  get wantsBody(): boolean {
    return this.#isSpoilt || (this.#sink?.wantsBody ?? false);
  }

  bodyBytes(bytes: Buffer): void {
    if (this.#isSpoilt) return;
    const decoded = this.#decoder ? this.#decoder.decode(bytes) : bytes;
    if (!decoded) return this.bodySpoilt(malformed("its body is not base64"));
    if (!this.#asked.pass(decoded)) return this.bodySpoilt(malformed("a message begins with an unknown flag"));
    if (decoded.length > 0) this.#sink?.bodyBytes(decoded);
  }

  bodyEnded(): void {
    if (this.#isSpoilt) return;
    if (this.#decoder?.isBetween === false) return this.bodySpoilt(malformed("its base64 breaks off"));
    if (!this.#asked.isBetween) return this.bodySpoilt(malformed("its last message breaks off"));
    this.#sink?.bodyEnded();
  }

  bodySpoilt(error: ActivatorError): void {
    this.#isSpoilt = true;
    this.#sink?.bodySpoilt(error);
  }

  // The response.

  get takesMore(): boolean {
    return this.#carrier.takesMore;
  }

  get queuedBytes(): number {
    return this.#carrier.queuedBytes;
  }

  /** The content of an answer that is none of gRPC is dropped: its status is all that a client of gRPC reads of it. */
  respond(status: number, fields: readonly HeaderPair[], isWhole: boolean): void {
    this.#status = status;
    this.#isGrpc = isGrpc(status, fields);
    this.#carrier.respond(200, this.#isGrpc ? responseFields(fields, this.#form) : webFields(this.#form), false);
    if (isWhole) this.end(fields);
  }

  write(bytes: Buffer): void {
    if (!this.#isGrpc || bytes.length === 0) return;
    // With the flag of trailers, a message of the sandbox would be read as the end of the call.
    if (this.#answered.pass(bytes)) this.#carrier.write(webBytes(bytes, this.#form));
    else this.#carrier.abort();
  }

  /** Within a message the trailers would be read as a part of it: then only a cut says that the call broke off. */
  end(trailers: readonly HeaderPair[]): void {
    if (!this.#answered.isBetween) return this.#carrier.abort();
    const last = lastFields(trailers, this.#status);
    this.#carrier.write(webBytes(trailerFrame(last), this.#form));
    this.#carrier.end(last);
  }

  abort(): void {
    this.#carrier.abort();
  }
}

const malformed = (because: string) => new ActivatorError("MalformedRequest", { because });
