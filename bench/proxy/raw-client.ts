// A process of its own, on the core of the load: `latency SECONDS`, `echo SECONDS` or `held COUNT closed|silent`; prints JSON.
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { spreadOf } from "../statistics.ts";
import { HeldBackend } from "./held-backend.ts";
import { hostOf, ports, webSocketKey } from "./ports.ts";

const [scenario = "latency", amount = "5", port = "closed"] = process.argv.slice(2);
const result =
  scenario === "latency"
    ? await latency(Number(amount))
    : scenario === "echo"
      ? await echo(Number(amount))
      : await held(Number(amount), port === "silent");
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: ports.proxy, host: "127.0.0.1", noDelay: true });
    socket.once("connect", () => resolve(socket)).once("error", reject);
  });
}

/** A thousand small requests a second on idle connections, whether or not earlier ones have ended. */
async function latency(seconds: number) {
  const idle = await Promise.all(Array.from({ length: 50 }, open));
  const text = `GET / HTTP/1.1\r\nHost: ${hostOf(ports.files)}\r\n\r\n`;
  const tookMs: number[] = [];
  let [missed, sent] = [0, 0];
  const startMs = performance.now();
  const ask = (socket: Socket) => {
    const beganMs = performance.now();
    socket.once("data", () => {
      tookMs.push(performance.now() - beganMs);
      idle.push(socket);
    });
    socket.write(text);
  };
  await new Promise<void>((resolve) => {
    const turn = setInterval(() => {
      const elapsedMs = performance.now() - startMs;
      for (; sent < elapsedMs; sent += 1) {
        const socket = idle.shift();
        if (socket) ask(socket);
        else missed += 1;
      }
      if (elapsedMs < seconds * 1_000) return;
      clearInterval(turn);
      resolve();
    }, 1);
  });
  await delay(200);
  return { ...spreadOf(tookMs.slice(500)), missed };
}

/** 64 WebSocket connections, each with one message in flight at any time. */
async function echo(seconds: number) {
  // A masked binary frame (RFC 6455, 5.2).
  const message = Buffer.concat([Buffer.from([0x82, 0x80 | 120, 0, 0, 0, 0]), Buffer.alloc(120, "m")]);
  const lines = ["Connection: Upgrade", "Upgrade: websocket", `Sec-WebSocket-Key: ${webSocketKey}`];
  const head = ["GET /ws HTTP/1.1", `Host: ${hostOf(ports.streams)}`, ...lines, "Sec-WebSocket-Version: 13"];
  const upgrade = `${head.join("\r\n")}\r\n\r\n`;
  let [messages, over] = [0, false];
  const sockets = await Promise.all(Array.from({ length: 64 }, open));
  for (const socket of sockets) {
    socket.write(upgrade);
    socket.once("data", () => {
      let left = message.length;
      socket.on("data", (bytes: Buffer) => {
        left -= bytes.length;
        if (left > 0 || over) return;
        messages += 1;
        left = message.length;
        socket.write(message);
      });
      socket.write(message);
    });
  }
  await delay(500);
  messages = 0;
  const beganMs = performance.now();
  await delay(seconds * 1_000);
  const tookSeconds = (performance.now() - beganMs) / 1_000;
  over = true;
  return { messages, seconds: tookSeconds };
}

/**
 * Sends `count` requests to a port that is closed, or does not answer. Waits for a line on standard input, lets the port
 * answer, and waits for all responses.
 */
async function held(count: number, silent: boolean) {
  const text = `GET /held HTTP/1.1\r\nHost: ${hostOf(ports.held)}\r\n\r\n`;
  const backend = new HeldBackend();
  if (silent) await backend.listen();
  const sockets: Socket[] = [];
  for (let at = 0; at < count; at += 100) sockets.push(...(await Promise.all(Array.from({ length: 100 }, open))));
  let [answered, good] = [0, 0];
  const all = Promise.withResolvers<void>();
  for (const socket of sockets) {
    socket.on("error", () => {});
    socket.once("data", (bytes: Buffer) => {
      if (bytes.toString("latin1", 0, 12) === "HTTP/1.1 200") good += 1;
      answered += 1;
      if (answered === count) all.resolve();
    });
    socket.write(text);
  }
  process.stdout.write("held\n");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  const beganMs = performance.now();
  if (!silent) void backend.listen();
  backend.answer();
  await all.promise;
  return { answered, good, connections: backend.connections, releasedMs: performance.now() - beganMs };
}
