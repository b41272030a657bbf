import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { Random } from "../../http1/random.ts";
import { type Backend, openBackend } from "../../support/proxy-path.ts";
import { GrpcConnection } from "./sandbox-grpc.ts";
import { answerHttp1 } from "./sandbox-http1.ts";

/** A sandbox that speaks HTTP/1.1, WebSocket and gRPC. What it answers follows from the seed and the order of its connections. */
export function openSandbox(seed: number): Promise<Backend> {
  let connections = 0;
  return openBackend((socket) => {
    connections += 1;
    const random = new Random(seed * 7_919 + connections);
    let grpc: GrpcConnection | undefined;
    const isSlow = random.once(6);
    socket.on("end", () => socket.writable && socket.end());
    socket.on("data", (bytes: Buffer) => {
      if (grpc) return grpc.take(bytes);
      const text = bytes.toString("latin1");
      if (text.startsWith("PRI ")) {
        grpc = new GrpcConnection(socket, random);
        return grpc.take(bytes);
      }
      if (!/ HTTP\/1\.1\r\n/.test(text)) return;
      answerHttp1(socket, text, random);
      if (isSlow) void pauseFor(socket, random.below(60));
    });
  });
}

async function pauseFor(socket: Socket, turns: number): Promise<void> {
  socket.pause();
  for (let left = turns; left > 0; left -= 1) await turn();
  socket.resume();
}
