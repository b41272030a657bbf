import type { GrpcCall, HeaderPair, Synthetic } from "../request.ts";
import type { ActivatorError, ErrorCode, ErrorStatus } from "./errors-for-clients.ts";
import { trailerFrame, webBytes, webFields } from "./grpc-web-response.ts";

/** Status codes of gRPC (gRPC, "Status codes and their use in gRPC"). */
export const grpcStatus = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/**
 * The status of gRPC for each status of HTTP that an error has. The contract with the other routers of the ecosystem names some
 * of them, and has INTERNAL for all others.
 */
const ofHttpStatus: Readonly<Record<ErrorStatus, number>> = {
  400: grpcStatus.invalidArgument,
  401: grpcStatus.unauthenticated,
  403: grpcStatus.permissionDenied,
  404: grpcStatus.notFound,
  405: grpcStatus.internal,
  408: grpcStatus.internal,
  409: grpcStatus.internal,
  410: grpcStatus.internal,
  413: grpcStatus.resourceExhausted,
  414: grpcStatus.internal,
  417: grpcStatus.internal,
  424: grpcStatus.internal,
  431: grpcStatus.internal,
  500: grpcStatus.internal,
  502: grpcStatus.unavailable,
  503: grpcStatus.unavailable,
  504: grpcStatus.deadlineExceeded,
};

/** Errors that mean that the client's time is over, if it has set one and that has passed. */
const ofTime: ReadonlySet<ErrorCode> = new Set(["WakeTimedOut", "SandboxSlow"]);

/** The fields of an error that end a call of gRPC. `isLate`: the time that the client allowed has passed. */
export function grpcTrailers(error: ActivatorError, isLate: boolean): readonly [HeaderPair, HeaderPair] {
  const { code, status, detail } = error;
  const late = isLate && ofTime.has(code);
  const number = late ? grpcStatus.deadlineExceeded : ofHttpStatus[status];
  return [
    ["grpc-status", String(number)],
    ["grpc-message", percentEncoded(detail)],
  ];
}

/** An error as a response to a call of gRPC, which has the status of HTTP 200 always. */
export function toGrpcResponse(error: ActivatorError, { web }: GrpcCall, isLate: boolean): Synthetic {
  const { code } = error;
  const trailers = grpcTrailers(error, isLate);
  const reason = ["X-Rouse-Reason", code] as const;
  if (!web) return { status: 200, headers: [["Content-Type", "application/grpc"], reason], body: "", trailers, code };
  const [[, grpcStatus]] = trailers;
  const bytes = webBytes(trailerFrame(trailers), web);
  return { status: 200, headers: [...webFields(web), reason], body: "", bytes, grpcStatus, code };
}

/** As gRPC has it: all but visible ASCII and the space, and the percent sign (gRPC over HTTP/2, "Status-Message"). */
function percentEncoded(text: string): string {
  let encoded = "";
  for (const byte of Buffer.from(text)) {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
