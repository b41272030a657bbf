// A program that is worth having ready: it takes a while to start, as those do that load a model or a large library.
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

const { POD_IP = "127.0.0.1", POD_NAME = "nobody" } = process.env;
const startMs = performance.now();
await delay(2_000);
const tookMs = Math.round(performance.now() - startMs);

createServer((_, response) => {
  response.end(`Hello from ${POD_NAME}. Starting took ${tookMs} ms, and nobody had to wait for it.\n`);
}).listen(8888, POD_IP);

process.on("SIGTERM", () => process.exit(0));
