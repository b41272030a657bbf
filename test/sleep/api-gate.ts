import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** A call on its way to the API server. */
export interface GateCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body: string;
}

/** Called when a call arrives, and again when its response arrives. The call waits for the returned promise. */
export type GateKeeper = (call: GateCall, stage: "asked" | "answered") => Promise<void> | void;

/** A proxy between one program and the API server that can refuse connections, hang, and hold calls. */
export class ApiGate implements AsyncDisposable {
  keeper: GateKeeper | undefined;
  readonly #target: URL;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server: Server;
  #port = 0;
  #open = Promise.withResolvers<void>();

  constructor(apiUrl: string) {
    this.#target = new URL(apiUrl);
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#open.resolve();
  }

  async start(): Promise<this> {
    await this.#listen();
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Closes the port and all connections. */
  async refuse(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Keeps the connections open and forwards nothing. */
  hang(): void {
    this.#open = Promise.withResolvers<void>();
  }

  async open(): Promise<void> {
    this.#open.resolve();
    if (!this.#server.listening) await this.#listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.keeper = undefined;
    this.#open.resolve();
    if (this.#server.listening) await this.refuse();
    this.#agent.destroy();
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, "127.0.0.1", () => resolve());
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const { method = "GET", url: path = "/" } = request;
      const call = { method, path, body: Buffer.concat(chunks).toString("utf8") };
      await this.keeper?.(call, "asked");
      await this.#open.promise;
      if (response.destroyed) return; // the client has disconnected, so the call is dropped
      const answer = await this.#pass(call, request.headers, response);
      if (!isWatch(path)) await this.keeper?.(call, "answered");
      await this.#open.promise;
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      for await (const chunk of answer) {
        await this.#open.promise;
        response.write(chunk);
      }
      response.end();
    } catch {
      response.destroy();
    }
  }

  #pass(call: GateCall, headers: IncomingHttpHeaders, response: ServerResponse): Promise<IncomingMessage> {
    const { hostname, port, host } = this.#target;
    const { method, path, body } = call;
    const options = { hostname, port, method, path, headers: { ...headers, host }, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const passed = httpRequest(options, resolve);
      passed.on("error", reject);
      response.on("close", () => passed.destroy());
      passed.end(body);
    });
  }
}

const isWatch = (path: string): boolean => path.includes("watch=");
