// A process of its own: the plainest proxy that node:http allows, with a keep-alive agent.
import { Agent, createServer, request } from "node:http";
import { portOf, ports } from "./ports.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

const server = createServer((incoming, response) => {
  const path = incoming.url ?? "/";
  const headers = { ...incoming.headers, "x-forwarded-for": incoming.socket.remoteAddress };
  const options = { agent, host: "127.0.0.1", port: portOf(path), method: incoming.method, path, headers };
  const outgoing = request(options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on("error", () => response.destroy());
  incoming.pipe(outgoing);
});
server.on("upgrade", (incoming, socket, early) => {
  const { method, headers, url: path = "/" } = incoming;
  const outgoing = request({ host: "127.0.0.1", port: portOf(path), method, path, headers });
  outgoing.on("upgrade", (answer, far, first) => {
    const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
    socket.write(first);
    far.write(early);
    far.pipe(socket).pipe(far);
    for (const each of [far, socket]) each.on("error", () => each.destroy());
  });
  outgoing.on("error", () => socket.destroy());
  outgoing.end();
});
server.listen(ports.proxy, "127.0.0.1", () => process.stdout.write("ready\n"));
