import type { ServerWritableStream, sendUnaryData } from "@grpc/grpc-js";
import { Server, ServerCredentials, type ServerDuplexStream, type ServerUnaryCall } from "@grpc/grpc-js";
import { echo } from "../support/grpc/echo-service.ts";
import { type Ledger, recordMessage } from "./ledger.ts";

export const grpcPort = 50_051;
/** The answers to a call of a stream, and the time between two of them. */
export const answersOfStream = 3;
const everyMs = 10;

/**
 * The workload of the sandboxes of a test bed for calls of gRPC, by a library. It echoes each message as it came, to a stream of the
 * server several times, and records those that name themselves.
 */
export class GrpcWorkload implements AsyncDisposable {
  readonly #server = new Server();

  constructor(podUid: string, ledger: Ledger) {
    const record = (message: Buffer) => recordMessage(ledger, podUid, message.toString("latin1"));
    const { Unary, ServerStream, Both } = echo;
    this.#server.addService(
      { Unary, ServerStream, Both },
      {
        Unary({ request }: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
          record(request);
          answer(null, request);
        },
        ServerStream(call: ServerWritableStream<Buffer, Buffer>) {
          record(call.request);
          let left = answersOfStream;
          const timer = setInterval(() => {
            call.write(call.request);
            left -= 1;
            if (left > 0) return;
            clearInterval(timer);
            call.end();
          }, everyMs);
          call.on("cancelled", () => clearInterval(timer));
        },
        Both(call: ServerDuplexStream<Buffer, Buffer>) {
          call.on("error", () => {}).on("end", () => call.end());
          call.on("data", (message: Buffer) => {
            record(message);
            call.write(message);
          });
        },
      },
    );
  }

  listen(host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(`${host}:${grpcPort}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
  }
}
