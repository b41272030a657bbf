// A process of its own: answers calls of gRPC, with one message or with many.
import { createServer } from "node:http2";
import { callPaths, messageOf, ports } from "./ports.ts";

const small = messageOf(16);
const large = messageOf(1_024);
const messagesOfStream = 16;
const head = { ":status": 200, "content-type": "application/grpc" };

const server = createServer();
server.on("stream", (stream, headers) => {
  stream.on("error", () => {}).resume();
  stream.respond(head, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  if (headers[":path"] === callPaths.stream) {
    for (let left = messagesOfStream; left > 0; left -= 1) stream.write(large);
    stream.end();
  } else stream.end(small);
});
server.listen(ports.calls, "127.0.0.1", () => process.stdout.write("ready\n"));
