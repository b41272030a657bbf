import { type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { wireFields } from "../../../apiserver/protobuf/wire-fields.ts";
import { onAbort } from "../../../lib/guard/on-abort.ts";
import type { ActionResult } from "./container-actions.ts";

export interface GrpcQuestion {
  readonly host: string;
  readonly port: number;
  /** Empty: the server as a whole. */
  readonly service: string;
}

/** The call of https://github.com/grpc/grpc/blob/master/doc/health-checking.md. */
const path = "/grpc.health.v1.Health/Check";
/** An answer has 7 bytes. */
const answerBytesMax = 4_096;
/** The length of what stands before a message: a byte about compression, and four with the length. */
const prefixBytes = 5;
const statusOk = "0";
const statusUnimplemented = "12";
/** By their numbers in `ServingStatus`. */
const servingStatuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

const limits = {
  settings: { enablePush: false, maxHeaderListSize: 16_384 },
  maxSessionMemory: 1, // megabytes
  maxReservedRemoteStreams: 0,
};

/**
 * Asks a server of gRPC in clear text for its health, as a kubelet does. Only the status SERVING passes. The connection is closed when this
 * settles.
 *
 * @throws the reason of the signal once that is aborted, or the error of the connection.
 */
export async function checkGrpc(question: GrpcQuestion, signal: AbortSignal): Promise<ActionResult> {
  return judge(await ask(question, signal));
}

async function ask({ host, port, service }: GrpcQuestion, signal: AbortSignal): Promise<GrpcAnswer> {
  signal.throwIfAborted();
  const session = connect(`http://${host}:${port}`, limits);
  const answer = Promise.withResolvers<GrpcAnswer>();
  using _ = onAbort(signal, () => answer.reject(signal.reason));
  try {
    session.on("error", answer.reject);
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: constants.HTTP2_METHOD_POST,
      [constants.HTTP2_HEADER_PATH]: path,
      [constants.HTTP2_HEADER_TE]: "trailers",
      "content-type": "application/grpc",
      "user-agent": "kube-probe/rouse",
    });
    collect(stream, answer);
    stream.end(framed(encodeRequest(service)));
    return await answer.promise;
  } finally {
    session.destroy();
  }
}

interface GrpcAnswer {
  readonly httpStatus: number;
  /** Of the trailers, or of the headers if nothing follows them. */
  readonly fields: IncomingHttpHeaders;
  readonly body: Buffer;
}

function collect(stream: ClientHttp2Stream, { resolve, reject }: PromiseWithResolvers<GrpcAnswer>): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  let head: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  stream.on("response", (fields) => {
    head = fields;
  });
  stream.on("trailers", (fields) => {
    trailers = fields;
  });
  stream.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes > answerBytesMax) return reject(new Error(`the health check has more than ${answerBytesMax} bytes`));
    parts.push(part);
  });
  const finish = () => {
    const httpStatus = Number(head[constants.HTTP2_HEADER_STATUS]);
    resolve({ httpStatus, fields: { ...head, ...trailers }, body: Buffer.concat(parts) });
  };
  stream.on("end", finish);
  stream.on("error", reject);
  stream.on("close", () => reject(new Error("the connection was closed without a response")));
}

function judge({ httpStatus, fields, body }: GrpcAnswer): ActionResult {
  const fails = (message: string): ActionResult => ({ passed: false, message });
  if (httpStatus !== 200) return fails(`error: health rpc probe failed: HTTP status ${httpStatus}`);
  const code = String(fields["grpc-status"] ?? "");
  const text = String(fields["grpc-message"] ?? "");
  if (code === statusUnimplemented) {
    return fails(`error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${text}`);
  }
  if (code !== statusOk) return fails(`error: health rpc probe failed: status ${code || "missing"}: ${text}`);
  const status = statusIn(body);
  if (status === undefined) return fails("error: health rpc probe failed: the response is malformed");
  const name = servingStatuses[status] ?? String(status);
  return name === "SERVING" ? { passed: true, message: "" } : fails(`service unhealthy (responded with "${name}")`);
}

/** The serving status of a message with its prefix; undefined if it is malformed. */
function statusIn(body: Buffer): number | undefined {
  if (body.length < prefixBytes || body[0] !== 0) return undefined;
  const message = body.subarray(prefixBytes);
  if (message.length !== body.readUInt32BE(1)) return undefined;
  try {
    const values = [...wireFields(message)].filter(({ number }) => number === 1).map(({ value }) => value);
    return Number(values.at(-1) ?? 0n);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** `HealthCheckRequest`: the service is a string in field 1. */
function encodeRequest(service: string): Buffer {
  const bytes = Buffer.from(service);
  return bytes.length === 0 ? bytes : Buffer.concat([Buffer.from([0x0a, ...varint(bytes.length)]), bytes]);
}

function varint(number: number): readonly number[] {
  return number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...varint(number >>> 7)];
}

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
