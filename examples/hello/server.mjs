// A small program to put to sleep: a page, a counter kept on its volume, an event stream and a WebSocket echo.
// It needs nothing but Node 20 or newer.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const host = process.env.POD_IP ?? "127.0.0.1";
const port = Number(process.env.PORT ?? 8888);
const name = process.env.SANDBOX_NAME ?? "hello";
const directory = process.env.ROUSE_VOLUME_DATA ?? "/data";
const counterFile = join(directory, "counter");
let listeningSinceMs = 0;

const count = () => {
  try {
    return Number(readFileSync(counterFile, "utf8")) || 0;
  } catch {
    return 0;
  }
};

const countOneMore = () => {
  const next = count() + 1;
  if (!existsSync(directory)) mkdirSync(directory);
  writeFileSync(`${counterFile}.new`, String(next));
  renameSync(`${counterFile}.new`, counterFile); // a reader, or a kill, sees the old number or the new one
  return next;
};

const page = (visits) => `<!doctype html>
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${name}</title>
<style>body{font:16px/1.5 system-ui;max-width:36rem;margin:4rem auto;padding:0 1rem}code{background:#eee;padding:0 .3em}</style>
<h1>Hello from ${name}</h1>
<p>This is visit number <b>${visits}</b>. The number lives on a volume, so it outlasts every sleep.</p>
<p>The event stream: <span id="events">…</span></p>
<p>The WebSocket says: <span id="echo">…</span></p>
<script>
new EventSource("events").onmessage = (event) => { document.getElementById("events").textContent = event.data; };
const socket = new WebSocket(new URL("ws", location).href.replace("http", "ws"));
socket.onopen = () => socket.send("are you awake?");
socket.onmessage = (event) => { document.getElementById("echo").textContent = event.data; };
</script>
`;

const json = (response, status, value) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(value)}\n`);
};

const greet = (request, response) => {
  const visits = countOneMore();
  const browser = request.headers.accept?.includes("text/html");
  response.writeHead(200, { "content-type": `text/${browser ? "html" : "plain"}; charset=utf-8` });
  response.end(browser ? page(visits) : `Hello from ${name}. This is visit number ${visits}.\n`);
};

const streamEvents = (response) => {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  let beat = 0;
  const tell = () => response.write(`data: beat ${++beat} at ${new Date().toISOString()}\n\n`);
  tell();
  const timer = setInterval(tell, 1_000);
  response.on("close", () => clearInterval(timer));
};

const echo = (request, response) => {
  response.writeHead(200, { "content-type": request.headers["content-type"] ?? "application/octet-stream" });
  request.pipe(response);
};

const answer = (request, response) => {
  const [pathname] = request.url.split("?"); // not by new URL: it throws for a path such as "//"
  if (pathname === "/") return greet(request, response);
  if (pathname === "/counter" && request.method === "POST") return json(response, 200, { count: countOneMore() });
  if (pathname === "/counter") return json(response, 200, { count: count() });
  if (pathname === "/events") return streamEvents(response);
  if (pathname === "/echo") return echo(request, response);
  if (pathname === "/info") return json(response, 200, { name, pid: process.pid, listeningSinceMs });
  return json(response, 404, {
    error: "there is nothing here; try /, /counter, /events, /echo, /info or a WebSocket on /ws",
  });
};

const server = createServer((request, response) => {
  try {
    answer(request, response);
  } catch (error) {
    // The volume may be full. What is there can still be read.
    if (response.headersSent) response.destroy();
    else json(response, 500, { error: error.message });
  }
});

// RFC 6455, 4.2.2: the answer to the key of the handshake.
const acceptKey = (key) => createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

const frameBytesMax = 1024 * 1024;

/** RFC 6455, 5.2: one frame out of the bytes, or nothing while it is incomplete. */
const readFrame = (bytes) => {
  if (bytes.length < 2) return undefined;
  const short = bytes[1] & 0x7f;
  const head = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < head + 4) return undefined;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (length > frameBytesMax) return { isTooLong: true };
  const end = head + 4 + length;
  if (bytes.length < end) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const payload = Buffer.from(bytes.subarray(head + 4, end)).map((byte, at) => byte ^ mask[at % 4]);
  return { first: bytes[0], opcode: bytes[0] & 0x0f, payload, end };
};

const writeFrame = (socket, first, payload) => {
  const long = payload.length > 0xffff;
  const head = Buffer.alloc(payload.length < 126 ? 2 : long ? 10 : 4);
  head[0] = first;
  head[1] = payload.length < 126 ? payload.length : long ? 127 : 126;
  if (long) head.writeBigUInt64BE(BigInt(payload.length), 2);
  else if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
  socket.write(Buffer.concat([head, payload]));
};

/** Ends a connection: the client may never end its own side. */
const leave = (socket, lastBytes) => {
  socket.removeAllListeners("data");
  socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), 1_000);
  socket.on("close", () => clearTimeout(timer));
};

server.on("upgrade", (request, socket, rest) => {
  // First of all: a client that resets its connection must not end the program.
  socket.on("error", () => socket.destroy());
  socket.on("end", () => leave(socket));
  const key = request.headers["sec-websocket-key"];
  if (request.url !== "/ws" || !key) return leave(socket, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
  const answer = ["HTTP/1.1 101 Switching Protocols", "upgrade: websocket", "connection: Upgrade"];
  socket.write(`${answer.join("\r\n")}\r\nsec-websocket-accept: ${acceptKey(key)}\r\n\r\n`);
  let bytes = rest;
  const drain = () => {
    for (let frame = readFrame(bytes); frame; frame = readFrame(bytes)) {
      if (frame.isTooLong) {
        writeFrame(socket, 0x88, Buffer.from([1009 >> 8, 1009 & 0xff])); // close: the message is too big
        return leave(socket);
      }
      bytes = bytes.subarray(frame.end);
      const [close, ping, pong] = [8, 9, 10];
      if (frame.opcode === pong) continue;
      writeFrame(socket, frame.opcode === ping ? 0x8a : frame.first, frame.payload);
      if (frame.opcode === close) return leave(socket);
    }
  };
  socket.on("data", (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    drain();
    if (socket.writableNeedDrain) socket.pause();
  });
  // A client that sends and does not read: its frames wait with it.
  socket.on("drain", () => socket.resume());
  drain();
});

server.listen(port, host, () => {
  listeningSinceMs = performance.timeOrigin + performance.now();
  process.stdout.write(`listening on http://${host}:${port}\n`);
});

process.on("SIGTERM", () => process.exit(0));
