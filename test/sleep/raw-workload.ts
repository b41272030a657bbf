import { createServer, type Server, type Socket } from "node:net";
import type { Ledger } from "./ledger.ts";

export const rawPort = 7007;

/**
 * The workload of the sandboxes of a test bed on a port without HTTP. The first line is the id of a conversation. Everything
 * after it is echoed. When the client has closed its side, it gets a trailer with the number of bytes. If the line also has a
 * number of milliseconds, it is a question: only the trailer is sent, after that time.
 */
export class RawWorkload implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #podUid: string;
  readonly #ledger: Ledger;

  constructor(podUid: string, ledger: Ledger) {
    this.#podUid = podUid;
    this.#ledger = ledger;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));
  }

  listen(host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(rawPort, host, () => resolve());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}).once("close", () => this.#sockets.delete(socket));
    let head = "";
    let bytes: number | undefined;
    const echo = (text: string) => {
      bytes = (bytes ?? 0) + text.length;
      socket.write(text, "latin1");
    };
    socket.setEncoding("latin1").on("data", (text: string) => {
      if (bytes !== undefined) return echo(text);
      head += text;
      const lineEnd = head.indexOf("\n");
      if (lineEnd < 0) return;
      const [id = "", workMs] = head.slice(0, lineEnd).split(" ");
      const execution = this.#ledger.begin(id, this.#podUid);
      socket.once("close", () => {
        execution.end = socket.writableFinished ? "answered" : "cut";
      });
      echo(head.slice(lineEnd + 1));
      if (workMs !== undefined) setTimeout(() => socket.end(trailer(this.#podUid, 0), "latin1"), Number(workMs));
    });
    socket.on("end", () => socket.end(bytes === undefined ? "" : trailer(this.#podUid, bytes), "latin1"));
  }
}

/** The last line that the workload sends. */
export const trailer = (podUid: string, bytes: number): string => `\n${podUid} ${bytes}\n`;
