import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { expect, it } from "vitest";
import { systemClock } from "../../../lib/time/clock.ts";
import { perform } from "./container-actions.ts";

type Answer = (stream: ServerHttp2Stream, request: Buffer, headers: IncomingHttpHeaders) => void;

/** A server of HTTP/2 in clear text; each request goes to `answer` once it is whole. */
async function serving(answer: Answer) {
  const server = createServer();
  server.on("stream", (stream, headers) => {
    const parts: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("end", () => answer(stream, Buffer.concat(parts), headers));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

const ask = (port: number, service?: string, timeoutMs = 20_000) =>
  perform(
    { grpc: { port, ...(service !== undefined && { service }) } },
    { container: { name: "main" }, podIp: "127.0.0.1", launchOf: () => expect.unreachable() },
    { clock: systemClock, timeoutMs, signal: new AbortController().signal },
  );

const message = (...bytes: readonly number[]) => Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]);

/** Answers with a message, then with a status of gRPC. */
const withMessage =
  (body: Buffer, grpcStatus = "0"): Answer =>
  (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": grpcStatus }));
    stream.end(body);
  };

const withStatus =
  (grpcStatus: string, text: string): Answer =>
  (stream) =>
    stream.respond({ ":status": 200, "grpc-status": grpcStatus, "grpc-message": text }, { endStream: true });

const failed = "error: health rpc probe failed";
const tooMany = "the health check has more than 4096 bytes";

it.each<{ what: string; answer: Answer; message: string; passed?: boolean }>([
  { what: "SERVING", answer: withMessage(message(8, 1)), passed: true, message: "" },
  {
    what: "SERVING and a field that is not known",
    answer: withMessage(message(8, 1, 18, 1, 7)),
    passed: true,
    message: "",
  },
  {
    what: "NOT_SERVING",
    answer: withMessage(message(8, 2)),
    message: 'service unhealthy (responded with "NOT_SERVING")',
  },
  { what: "an empty message", answer: withMessage(message()), message: 'service unhealthy (responded with "UNKNOWN")' },
  { what: "a torn message", answer: withMessage(message(8)), message: `${failed}: the response is malformed` },
  { what: "no message", answer: withMessage(Buffer.alloc(0)), message: `${failed}: the response is malformed` },
  { what: "too many bytes", answer: withMessage(Buffer.alloc(5_000)), message: tooMany },
  { what: "a failed call", answer: withMessage(message(8, 1), "13"), message: `${failed}: status 13: ` },
  { what: "an unknown service", answer: withStatus("5", "no such"), message: `${failed}: status 5: no such` },
  {
    what: "no health service",
    answer: withStatus("12", "none"),
    message: "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): none",
  },
  {
    what: "a page",
    answer: (stream) => stream.respond({ ":status": 404 }, { endStream: true }),
    message: `${failed}: HTTP status 404`,
  },
])("a check that is answered with $what passes, or says why not", async ({ answer, message, passed = false }) => {
  await using server = await serving(answer);
  expect(await ask(server.port)).toEqual({ passed, message });
});

it("names the service in a message of protobuf", async () => {
  const seen: unknown[] = [];
  await using server = await serving((stream, request, headers) => {
    seen.push([headers[":path"], headers[":method"], headers.te, headers["content-type"], request.toString("latin1")]);
    withMessage(message(8, 1))(stream, request, headers);
  });
  const long = "s".repeat(200);
  for (const service of [undefined, "", "echo", long])
    expect(await ask(server.port, service)).toMatchObject({ passed: true });
  const call = ["/grpc.health.v1.Health/Check", "POST", "trailers", "application/grpc"];
  expect(seen).toEqual([
    [...call, "\0\0\0\0\0"],
    [...call, "\0\0\0\0\0"],
    [...call, "\0\0\0\0\x06\x0a\x04echo"],
    [...call, `\0\0\0\0\xcb\x0a\xc8\x01${long}`],
  ]);
});

it("fails after its time limit if the server answers nothing, and closes the connection", async () => {
  const server = createTcpServer();
  server.listen(0, "127.0.0.1");
  const closed = once(server, "connection").then(async ([socket]) => {
    socket.resume();
    await once(socket, "close");
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  expect(await ask(port, "", 50)).toEqual({ passed: false, message: "no answer within 0.05 s" });
  await closed;
  server.close();
});

it.each([
  { what: "refuses the connection", bytes: "" },
  { what: "speaks HTTP/1.1", bytes: "HTTP/1.1 400 Bad Request\r\n\r\n" },
])("fails at once if the program $what", async ({ bytes }) => {
  const server = createTcpServer((socket) => socket.on("error", () => {}).end(bytes));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  if (bytes === "") server.close();
  const { passed, message } = await ask(port);
  expect(passed).toBe(false);
  expect(message).not.toMatch(/^(|no answer.*)$/);
  server.close();
});
