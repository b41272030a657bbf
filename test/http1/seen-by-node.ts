import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";

/** A request as an application on node:http gets it. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
}

interface Expected {
  readonly requests: number;
  readonly resolve: () => void;
  /** In the order in which the requests began. Their bodies may be read in another order. */
  readonly seen: SeenRequest[];
  begun: number;
  read: number;
}

/** A server on node:http that reports every request, by its connection. */
export class SeeingServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #expecting = new Map<number, Expected>();

  constructor() {
    this.#server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
      const expected = this.#expecting.get(request.socket.remotePort ?? 0);
      const place = expected ? expected.begun++ : 0;
      void readAll(request).then((seen) => {
        response.end();
        if (!expected) return;
        expected.seen[place] = seen;
        if (++expected.read === expected.requests) expected.resolve();
      });
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** Sends the bytes on a new connection, and waits for `count` requests or the end of the connection. */
  async see(wire: Buffer, requests: number): Promise<readonly SeenRequest[]> {
    const { port } = this.#server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1").resume();
    await once(socket, "connect");
    const localPort = socket.localPort ?? 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const expected: Expected = { requests, resolve, seen: [], begun: 0, read: 0 };
    this.#expecting.set(localPort, expected);
    socket.on("error", () => {}).on("close", () => resolve());
    socket.write(wire);
    await promise;
    this.#expecting.delete(localPort);
    socket.destroy();
    return expected.seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

async function readAll(request: IncomingMessage): Promise<SeenRequest> {
  const { method = "", url: target = "", rawHeaders: fields } = request;
  let body = "";
  try {
    for await (const bytes of request) body += bytes.toString("latin1");
  } catch {
    // The connection ended within this body, so the received part is used.
  }
  return { method, target, fields, body, trailers: request.rawTrailers };
}
