import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { abortable } from "../lifecycle.ts";

/** Calls methods of one gRPC server: one message there, one back. */
export interface GrpcCaller extends Disposable {
  /**
   * Resolves once the server has said that it is well.
   *
   * @throws GrpcFailure when it says that it is not; Error when it cannot be reached; the signal's reason once it is aborted.
   */
  call(path: string, message: Buffer, signal: AbortSignal): Promise<void>;
}

/** The server answered, and refused. */
export class GrpcFailure extends Error {
  override readonly name = "GrpcFailure";
  readonly status: number;

  constructor(status: number, message: string) {
    super(`gRPC status ${status}${message === "" ? "" : `: ${message}`}`);
    this.status = status;
  }
}

/** Connects when it is first called, and anew after the connection was lost. `http:` is without encryption. */
export function createGrpcCaller(server: URL, userAgent: string): GrpcCaller {
  let session: ClientHttp2Session | undefined;
  const connected = (): ClientHttp2Session => {
    if (session && !session.closed && !session.destroyed) return session;
    const fresh = connect(server);
    // Streams are told of it too, and they are who reports it.
    fresh.on("error", () => {});
    fresh.unref();
    session = fresh;
    return fresh;
  };
  return {
    async call(path, message, signal) {
      signal.throwIfAborted();
      const request = connected().request({
        [constants.HTTP2_HEADER_METHOD]: "POST",
        [constants.HTTP2_HEADER_PATH]: path,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
        [constants.HTTP2_HEADER_TE]: "trailers",
        [constants.HTTP2_HEADER_USER_AGENT]: userAgent,
      });
      const answered = new Promise<IncomingHttpHeaders>((resolve, reject) => {
        let last: IncomingHttpHeaders = {};
        request.on("response", (headers) => {
          last = headers;
        });
        request.on("trailers", (trailers) => {
          last = { ...last, ...trailers };
        });
        request.on("error", reject);
        // The answer holds nothing that we need, but unread it would hold the stream.
        request.on("end", () => resolve(last)).resume();
        request.on("close", () => reject(new Error("the connection was closed before the answer")));
      });
      request.end(framed(message));
      try {
        throwUnlessWell(await abortable(answered, signal));
      } catch (error) {
        // A connection whose far end is gone without a word looks like any other; the next call gets a new one.
        if (!(error instanceof GrpcFailure)) session?.destroy();
        throw error;
      }
    },
    [Symbol.dispose]: () => session?.destroy(),
  };
}

/** One message as gRPC frames it: not compressed, then its length. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function throwUnlessWell(headers: IncomingHttpHeaders): void {
  const status = headers["grpc-status"];
  if (status === "0") return;
  if (status === undefined) throw new Error(`answered ${headers[":status"]} without a gRPC status`);
  throw new GrpcFailure(Number(status), String(headers["grpc-message"] ?? ""));
}
