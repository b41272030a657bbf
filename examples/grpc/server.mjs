// A small service of gRPC to put to sleep, with reflection and health checks. It needs nothing but Node 20 or newer, so it writes the
// messages of Protocol Buffers itself. A service of your own would use a library of gRPC.
import { createServer } from "node:http2";
import { messageOf, readMessage } from "./protobuf.mjs";
import { descriptorOf, services } from "./schema.mjs";

const host = process.env.POD_IP ?? "127.0.0.1";
const port = Number(process.env.PORT ?? 50051);
const status = { notFound: 5, tooLarge: 8, unimplemented: 12, internal: 13 };
const largestMessage = 4 * 1024 * 1024;

class CallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const awakeFor = () => `${(process.uptime() * 1_000).toFixed(0)} ms`;
const textOf = (request) => String(readMessage(request).get(1) ?? "");

// Each method gets the messages of its client, and yields those of its answer.

async function* say(requests) {
  for await (const request of requests) {
    yield messageOf([1, `${textOf(request)} (this process has run for ${awakeFor()})`]);
  }
}

async function* count(requests) {
  for await (const request of requests) {
    for (let number = 1; number <= 3; number += 1) {
      yield messageOf([1, `${textOf(request)} ${number}`]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function* check(requests) {
  const serving = 1;
  for await (const request of requests) {
    const name = textOf(request);
    if (name !== "" && !services.includes(name)) throw new CallError(status.notFound, `no service ${name}`);
    yield messageOf([1, serving]);
  }
}

/** What a client of reflection asks, by the number of the field. */
const [byFileName, bySymbol, listServices] = [3, 4, 7];

function reflected(asked) {
  if (asked.has(listServices)) return [6, messageOf(...services.map((name) => [1, messageOf([1, name])]))];
  const descriptor = descriptorOf(String(asked.get(bySymbol) ?? asked.get(byFileName) ?? ""));
  if (descriptor) return [4, messageOf([1, descriptor])];
  return [7, messageOf([1, status.notFound], [2, "not found"])];
}

async function* reflect(requests) {
  for await (const request of requests) yield messageOf([2, request], reflected(readMessage(request)));
}

const methods = new Map([
  ["/echo.Echo/Say", say],
  ["/echo.Echo/Count", count],
  ["/echo.Echo/Chat", say],
  ["/grpc.health.v1.Health/Check", check],
  ["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", reflect],
  // The same messages under the older name, which the library for Python asks for.
  ["/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", reflect],
]);

/** The messages of a stream: each has a byte about compression and a length before it. */
async function* messagesOf(stream) {
  let bytes = Buffer.alloc(0);
  for await (const chunk of stream) {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 5) {
      if (bytes[0] !== 0) throw new CallError(status.unimplemented, "messages must not be compressed");
      const end = 5 + bytes.readUInt32BE(1);
      if (end > largestMessage) throw new CallError(status.tooLarge, "the message is too large");
      if (bytes.length < end) break;
      yield bytes.subarray(5, end);
      bytes = bytes.subarray(end);
    }
  }
}

function send(stream, message) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const hasRoom = stream.write(Buffer.concat([head, message]));
  if (hasRoom || stream.destroyed) return undefined;
  return new Promise((resolve) => stream.once("drain", resolve).once("close", resolve));
}

async function serve(stream, path) {
  const method = methods.get(path);
  if (!method) throw new CallError(status.unimplemented, `no method ${path}`);
  for await (const answer of method(messagesOf(stream))) await send(stream, answer);
}

const server = createServer();
server.on("stream", async (stream, headers) => {
  const trailers = { "grpc-status": "0" };
  stream.on("error", () => {}); // the client has left
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
  try {
    await serve(stream, headers[":path"]);
  } catch (error) {
    trailers["grpc-status"] = String(error.code > 0 ? error.code : status.internal);
    trailers["grpc-message"] = encodeURI(error.message);
  }
  if (!stream.destroyed) stream.end();
});
server.listen(port, host, () => process.stdout.write(`listening on ${host}:${port}\n`));

process.on("SIGTERM", () => process.exit(0));
