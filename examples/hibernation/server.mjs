// A program that counts twice a second. The count and the name of its life are nowhere but in its memory.
// It needs nothing but Node 20 or newer.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const port = Number(process.env.PORT ?? 8888);
const life = randomUUID().slice(0, 8);
let count = 0;
setInterval(() => count++, 500);

// A restored program has another address, so it listens on all of them.
createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
  response.end(`I have counted to ${count} in the life ${life}.\n`);
}).listen(port, "0.0.0.0");

process.on("SIGTERM", () => process.exit(0));
