import { once } from "node:events";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { type Ledger, recordMessage } from "./ledger.ts";

export const tlsPort = 7_443;

export interface ServerPair {
  readonly cert: string;
  readonly key: string;
}

/** The workload of the sandboxes of a test bed with TLS of its own: it echoes all, and records messages that name themselves. */
export class TlsWorkload implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<TLSSocket>();

  constructor(pair: ServerPair, podUid: string, ledger: Ledger) {
    this.#server = createServer(pair, (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {}).once("close", () => this.#sockets.delete(socket));
      socket.on("data", (bytes: Buffer) => {
        recordMessage(ledger, podUid, bytes.toString("latin1"));
        socket.write(bytes);
      });
    });
  }

  async listen(host: string): Promise<void> {
    this.#server.listen(tlsPort, host);
    await once(this.#server, "listening");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
