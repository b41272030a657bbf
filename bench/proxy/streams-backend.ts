// A process of its own: receives uploads, answers in chunks, and echoes the data after an upgrade.
import { createServer } from "node:http";
import { ports, webSocketAccept } from "./ports.ts";

const chunk = Buffer.alloc(1_024, "c");
const chunksPerAnswer = 16;

const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (request, response) => {
  if (request.url !== "/chunked") {
    request.on("data", () => {}).on("end", () => response.end("ok"));
    return;
  }
  for (let left = chunksPerAnswer; left > 0; left -= 1) response.write(chunk);
  response.end();
});
server.on("upgrade", (_, socket) => {
  socket.on("error", () => socket.destroy());
  const lines = ["Connection: Upgrade", "Upgrade: websocket", `Sec-WebSocket-Accept: ${webSocketAccept}`];
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
  socket.pipe(socket);
});
server.listen(ports.streams, "127.0.0.1", () => process.stdout.write("ready\n"));
