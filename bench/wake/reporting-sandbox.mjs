// The program of a sandbox: `http1` or `grpc`. Each answer tells when its port began to accept, in milliseconds since the epoch.
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2 } from "node:http2";

const [protocol] = process.argv.slice(2);
const nowMs = () => String(performance.timeOrigin + performance.now());
let listeningSinceMs = "";
const host = process.env.POD_IP;
const started = () => {
  listeningSinceMs = nowMs();
};

if (protocol === "http1") {
  createHttp1((_, response) => {
    response.setHeader("listening-since-ms", listeningSinceMs);
    response.end();
  }).listen(8888, host, started);
} else {
  const server = createHttp2();
  server.on("stream", (stream) => {
    stream.on("error", () => {}).resume();
    const headers = { ":status": 200, "content-type": "application/grpc", "listening-since-ms": listeningSinceMs };
    stream.respond(headers, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.alloc(5)); // one empty message
  });
  server.listen(8888, host, started);
}
