import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { ports } from "./ports.ts";

/** Receives requests, each in one read, and answers them all when `answer` is called. */
export class HeldBackend {
  connections = 0;
  readonly #asked: Socket[] = [];
  #answers = false;

  async listen(): Promise<void> {
    const server = createServer((socket) => {
      this.connections += 1;
      socket.on("error", () => {}).on("data", () => (this.#answers ? reply(socket) : this.#asked.push(socket)));
    });
    await once(server.listen({ port: ports.held, host: "127.0.0.1", backlog: 4_096 }), "listening");
  }

  answer(): void {
    this.#answers = true;
    for (const socket of this.#asked.splice(0)) reply(socket);
  }
}

function reply(socket: Socket): void {
  socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}
