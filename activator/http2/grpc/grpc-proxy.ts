import { type ClientHttp2Stream, constants } from "node:http2";
import { guarded } from "../../../lib/guard/guard.ts";
import type { Upstream } from "../../connect/connector.ts";
import { ActivatorError, type ErrorCode } from "../../failures/errors-for-clients.ts";
import { grpcTrailers } from "../../failures/grpc-response.ts";
import { clientView } from "../../headers/base-path.ts";
import { ownFields } from "../../headers/own-fields.ts";
import { StallWatch } from "../../pod-connections/stall-watch.ts";
import type { OpenListener, ProxyRequestOptions } from "../../proxy-interface.ts";
import { ClientGone } from "../../request.ts";
import type { Watched } from "../../sweep.ts";
import { cancelStream } from "../cancel-stream.ts";
import { isEnded } from "../close-once-ended.ts";
import { textLength } from "../front/field-lines.ts";
import type { StreamListener } from "../front/stream-exchange.ts";
import { StreamWriter } from "../front/stream-writer.ts";
import type { GrpcProxyOptions } from "../proxy/create-http2-proxy.ts";
import type { CallBodySink, CallClient } from "./call-client.ts";
import { callFields, forwardedFields } from "./call-fields.ts";
import { CallResponse, type ResponseSink } from "./call-response.ts";
import type { PodSession } from "./pod-session.ts";
import { refusalOfCall } from "./refused-calls.ts";

/**
 * One call of gRPC between a client and a sandbox.
 *
 *   sending ──head──▶ answering ──end──▶ done
 *      └── fails: the client gets a status   (later failures end the response with a status in its trailers)
 */
type Phase = "sending" | "answering" | "done";

export class GrpcProxy implements CallBodySink, StreamListener, ResponseSink, Watched {
  sweepIndex = -1;
  restsUntilMs = 0;
  readonly #client: CallClient;
  readonly #upstream: Upstream;
  readonly #how: ProxyRequestOptions;
  readonly #options: GrpcProxyOptions;
  readonly #stall = new StallWatch();
  readonly #settled = Promise.withResolvers<void>();
  /** What the sandbox's stream is read by; set while there is one. */
  #response: CallResponse | undefined;
  #stream: ClientHttp2Stream | undefined;
  #session: PodSession | undefined;
  /** Until it is known how many calls the sandbox takes. */
  #wait: Disposable | undefined;
  #out: StreamWriter | undefined;
  #phase: Phase = "sending";
  #listener: OpenListener | undefined;
  #isUploaded = false;
  /** The client sent the last message. */
  #isUnanswered = false;
  #moved = 0;
  /** When the time of the client is over, and that of a call; in monotonic milliseconds. */
  #deadlineMs = Number.POSITIVE_INFINITY;
  #endMs = Number.POSITIVE_INFINITY;
  readonly #failUnexpectedly = () => this.#fail(this.#error("Unexpected"));

  constructor(client: CallClient, upstream: Upstream, how: ProxyRequestOptions, options: GrpcProxyOptions) {
    this.#client = client;
    this.#upstream = upstream;
    this.#how = how;
    this.#options = options;
  }

  /** Resolves when the call is over; rejects with the error to answer if no response has begun. */
  run(): Promise<void> {
    const { sessions, clock, sweep } = this.#options;
    this.#limit(clock.ticksMs());
    const take = guarded("pod-connection", (session?: PodSession) => this.#take(session), this.#failUnexpectedly);
    this.#wait = sessions.sessionFor(this.#upstream, take);
    if (this.#wait) {
      this.#client.proxiedBy(this);
      sweep.add(this);
    }
    return this.#settled.promise;
  }

  #take(session: PodSession | undefined): void {
    this.#wait = undefined;
    const nowMs = this.#options.clock.ticksMs();
    if (!session) return this.#fail(this.#error("ResponseLost")); // closed meanwhile
    if (this.#client.left) this.#fail(new ClientGone("the client left"));
    else if (nowMs >= this.#deadlineMs) this.#fail(this.#error("SandboxSlow"));
    else this.#begin(session, this.#deadlineMs - nowMs);
    if (!this.#stream) session.unused();
  }

  #limit(nowMs: number): void {
    const { head, seenMs } = this.#client;
    const { totalMs, streamIdleMs } = this.#options;
    if (typeof head.grpc?.timeoutMs === "number") this.#deadlineMs = seenMs + head.grpc.timeoutMs;
    if (totalMs > 0) this.#endMs = nowMs + totalMs;
    this.#stall.limit(streamIdleMs, nowMs);
  }

  #begin(session: PodSession, leftMs: number): void {
    const client = this.#client;
    const fields = callFields(client, this.#how, { pod: this.#upstream.target, leftMs });
    const stream = session.begin(fields);
    if (!stream) return this.#fail(this.#error("ResponseLost"));
    this.#stream = stream;
    this.#session = session;
    this.#response = new CallResponse(stream, this, session, this.#failUnexpectedly);
    this.#listen(stream, session).gaveFields(textLength(fields));
    this.#options.sweep.add(this);
    client.proxiedBy(this);
    client.head.sent();
    this.#how.use.dispatched();
    client.pourInto(this);
    this.#response.readOn();
  }

  #listen(stream: ClientHttp2Stream, session: PodSession): StreamWriter {
    const fail = this.#failUnexpectedly;
    const on = (event: string, listener: (...args: never[]) => void) =>
      stream.on(event, guarded("pod-connection", listener, fail));
    stream.on("error", () => {}); // "close" follows
    on("response", (_: unknown, flags: number, fields: readonly string[]) => {
      session.headCounted(fields);
      this.#responded(flags, fields);
    });
    on("close", () => {
      session.over(stream, this.#response?.hasEnded ?? false);
      this.#closed(stream.rstCode);
    });
    const readOn = guarded("pod-connection", () => this.#client.readOn(), fail);
    this.#out = new StreamWriter(stream, readOn);
    return this.#out;
  }

  // The client.

  get wantsBody(): boolean {
    return this.#phase === "done" || (this.#out?.takesMore ?? true);
  }

  bodyBytes(bytes: Buffer): void {
    const stream = this.#stream;
    this.#listener?.clientSends();
    if (this.#phase === "done" || !stream?.writable || !this.#isWithinLimit()) return;
    this.#moved += bytes.length;
    this.#asked(true);
    this.#out?.write(bytes);
    this.#client.bytesArrived();
  }

  bodyEnded(): void {
    this.#isUploaded = true;
    this.#listener?.requestEnded();
    if (this.#stream?.writable) this.#out?.end();
  }

  bodySpoilt(error: ActivatorError): void {
    this.#fail(error);
  }

  clientLeft(): void {
    this.#fail(new ClientGone("the client left"));
  }

  clientDrained(): void {
    this.#response?.readOn();
  }

  get waitingBytes(): number {
    return (this.#out?.queuedBytes ?? 0) + (this.#response?.keptBytes ?? 0);
  }

  // The sandbox.

  get wantsResponse(): boolean {
    return this.#phase === "done" || (this.#phase === "answering" && this.#client.takesMore);
  }

  responseKept(): void {
    this.#client.bytesArrived();
  }

  responseBytes(bytes: Buffer): void {
    if (this.#phase === "done") return;
    this.#moved += bytes.length;
    this.#asked(false);
    this.#client.write(bytes);
  }

  /** The client has asked, or the sandbox has answered, by a message. A head is neither: many servers send theirs before any work. */
  #asked(isUnanswered: boolean): void {
    this.#isUnanswered = isUnanswered;
    if (isUnanswered) this.#listener?.clientSpoke();
    else this.#listener?.sandboxSpoke();
  }

  /** The sandbox has done its part, so that the call is no longer in flight (decision 54). */
  responseArrived(): void {
    this.#listener?.sandboxEnded();
    this.#settled.resolve();
  }

  responseEnded(): void {
    if (this.#phase === "done") return;
    this.#done();
    this.#client.end(this.#response?.trailers.splice(0) ?? []);
  }

  #responded(flags: number, fields: readonly string[]): void {
    if (this.#phase !== "sending") return;
    const status = Number(fields[fields.indexOf(":status") + 1]);
    const isOnlyTrailers = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const refusal = refusalOfCall(status, isOnlyTrailers);
    if (refusal) return this.#fail(this.#error("ResponseLost", new Error(refusal)));
    this.#phase = "answering";
    this.#out?.fieldsAnswered();
    this.#moved += 1;
    this.#how.onFirstByte();
    const client = this.#client;
    const forwarded = [...forwardedFields(fields, clientView(client.head, this.#how)), ...ownFields(this.#how)];
    client.respond(status, forwarded, isOnlyTrailers);
    if (isOnlyTrailers) this.#done();
    else this.#response?.readOn();
  }

  /** The stream to the sandbox is closed. */
  #closed(code: number): void {
    this.#response?.readOn(); // what has just arrived
    // A response that has ended is whole, but its client may be slow to take it.
    if (this.#phase === "done" || this.#response?.hasEnded) return;
    const { refuse } = this.#client;
    // The client may send it again: no program has seen it (RFC 9113, 8.7).
    if (refuse && this.#phase === "sending" && code === constants.NGHTTP2_REFUSED_STREAM) {
      this.#leave();
      refuse();
      return this.#settled.resolve();
    }
    this.#fail(this.#error("ResponseLost", new Error(`the sandbox ended the stream with code ${code}`)));
  }

  get place() {
    return this.#upstream.target;
  }

  podGone(nowMs: number): void {
    if (!this.#response?.hasEnded) this.#stall.podGone(nowMs);
    this.restsUntilMs = 0;
  }

  check(nowMs: number): void {
    this.#keepOpen();
    if (this.#stall.isStalled(this.#moved - this.#client.queuedBytes, nowMs)) this.#fail(this.#error("ResponseLost"));
    else if (nowMs >= this.#deadlineMs || nowMs >= this.#endMs) this.#fail(this.#error("SandboxSlow"));
    else this.restsUntilMs = Math.min(this.#stall.nextLookMs(nowMs), this.#deadlineMs, this.#endMs);
  }

  /** While the client may send more, the call is an open connection. Most calls end before the first check. */
  #keepOpen(): void {
    if (this.#listener || this.#isUploaded || this.#response?.hasEnded || this.#phase === "done") return;
    this.#listener = this.#how.onOpen?.({ close: () => this.#fail(this.#error("SandboxSuspended")) });
    if (this.#isUnanswered) this.#listener?.clientSpoke(); // before it was registered
  }

  #isWithinLimit(): boolean {
    const { maxRequestBodyBytes } = this.#options;
    if (maxRequestBodyBytes <= 0 || this.#client.bodyLength <= maxRequestBodyBytes) return true;
    this.#fail(this.#error("BodyTooLarge"));
    return false;
  }

  #error(code: ErrorCode, cause?: Error): ActivatorError {
    return new ActivatorError(code, { subject: this.#how.subject, cause });
  }

  #done(): void {
    this.#leave();
    this.#settled.resolve();
  }

  /** Neither watched nor read any more. What the sandbox has not ended is reset. */
  #leave(): void {
    this.#phase = "done";
    this.#listener?.sandboxEnded();
    this.#options.sweep.remove(this);
    this.#wait?.[Symbol.dispose]();
    const stream = this.#stream;
    if (!stream || stream.closed) return;
    this.#session?.gaveUp(this.#out?.unsentFields ?? 0);
    // If both sides have ended, Node has yet to tell that it is closed.
    if (!this.#response?.hasEnded || !isEnded(stream)) cancelStream(stream);
  }

  #fail(cause: ActivatorError | ClientGone): void {
    if (this.#phase === "done") return;
    const answered = this.#phase === "answering";
    this.#leave();
    this.#client.discard();
    if (!answered) return this.#settled.reject(cause);
    if (cause instanceof ClientGone) this.#client.abort();
    else this.#client.end(grpcTrailers(cause, true));
    this.#settled.resolve();
  }
}
