// A process of its own: http-proxy with a keep-alive agent. It is installed beside the benchmark, see bench/README.md.
import { Agent, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { portOf, ports } from "./ports.ts";

interface HttpProxy {
  web(request: IncomingMessage, response: ServerResponse, options: { readonly target: string }): void;
  ws(request: IncomingMessage, socket: Duplex, head: Buffer, options: { readonly target: string }): void;
  on(
    event: "error",
    listener: (error: Error, request: IncomingMessage, response: ServerResponse | Duplex) => void,
  ): void;
}

const [directory = "."] = process.argv.slice(2);
const { createProxyServer }: { createProxyServer(options: object): HttpProxy } = createRequire(
  join(directory, "package.json"),
)("http-proxy");

const proxy = createProxyServer({ agent: new Agent({ keepAlive: true, maxSockets: 256 }), xfwd: true });
proxy.on("error", (_, __, response) => void response.destroy());
const targetOf = (path = "/") => `http://127.0.0.1:${portOf(path)}`;

const server = createServer((request, response) => proxy.web(request, response, { target: targetOf(request.url) }));
server.on("upgrade", (request, socket, head) => proxy.ws(request, socket, head, { target: targetOf(request.url) }));
server.listen(ports.proxy, "127.0.0.1", () => process.stdout.write("ready\n"));
