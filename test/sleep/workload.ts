import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { type Ledger, recordMessage } from "./ledger.ts";

export const workloadPort = 8888;

/** What a request asks of a workload, by its query. */
export interface ConnectRequest {
  readonly id: string;
  /** Milliseconds until the response. */
  readonly afterMs: number;
  /** The number of response bytes that are sent one by one. */
  readonly drips: number;
  readonly dripEveryMs: number;
}

/**
 * The workload of the sandboxes of a test bed: it records the requests that it executes, and echoes WebSocket messages.
 * It records those that name themselves.
 * When it is disposed of, it ends at once, and open requests are cut.
 */
export class Workload implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #podUid: string;
  readonly #ledger: Ledger;

  constructor(podUid: string, ledger: Ledger) {
    this.#podUid = podUid;
    this.#ledger = ledger;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on("upgrade", (request, socket, head) => {
      this.#sockets.handleUpgrade(request, socket, head, (opened) => {
        opened.on("error", () => {});
        opened.on("message", (data) => {
          recordMessage(this.#ledger, this.#podUid, String(data));
          opened.send(data);
        });
      });
    });
  }

  listen(host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(workloadPort, host, () => resolve());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, afterMs, drips, dripEveryMs } = requestedBy(request.url ?? "/");
    // A request without an id, such as a probe, is not recorded.
    if (id === "") return void response.end("ok");
    const execution = this.#ledger.begin(id, this.#podUid);
    response.on("close", () => {
      execution.end = response.writableFinished ? "answered" : "cut";
    });
    let bytes = 0;
    try {
      for await (const chunk of request) bytes += chunk.length;
    } catch {
      return; // the client went away
    }
    if (afterMs > 0) await delay(afterMs);
    if (response.destroyed) return;
    response.writeHead(200, { "content-type": "application/json" });
    for (let count = 0; count < drips && !response.destroyed; count += 1) {
      response.write(" ");
      await delay(dripEveryMs);
    }
    response.end(JSON.stringify({ id, podUid: this.#podUid, bytes }));
  }
}

function requestedBy(url: string): ConnectRequest {
  const { searchParams } = new URL(url, "http://workload");
  const number = (name: string) => Number(searchParams.get(name) ?? 0);
  return {
    id: searchParams.get("id") ?? "",
    afterMs: number("after"),
    drips: number("drips"),
    dripEveryMs: number("every"),
  };
}
