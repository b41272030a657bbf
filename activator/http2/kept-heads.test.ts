import { expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { callFields, openFrameSandbox, responseFields } from "../../test/support/grpc/frame-sandbox.ts";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import {
  fieldsOf,
  flag,
  frame,
  getFields,
  headersOf,
  longHeadOf,
  openFrameClient,
  type SeenFrame,
} from "../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../test/support/proxy-path.ts";

const streams = 100;
/** Less than any of the large heads, and more than a stream takes without one. */
const bytesMax = 30_000;
const names = Array.from({ length: 7 }, (_, at) => `x-f${at}`);
const large = names.map((name) => [name, "a".repeat(8_500)] as const);
const largeLines = large.map(([name, value]) => `${name}: ${value}\r\n`).join("");
/** Trailers have a limit of their own. */
const trailerBytes = 8_000;

const isOf = (stream: number, type: number) => (seen: SeenFrame) => seen.stream === stream && seen.type === type;

/** The heap that one stream keeps, of many that `open` leaves open. */
async function bytesOfStream(open: (stream: number) => Promise<unknown>): Promise<number> {
  await open(1);
  const bytes = await heapBytesOf(async () => {
    for (let index = 1; index <= streams; index += 1) await open(2 * index + 1);
  });
  return bytes / streams;
}

it.each([
  { what: "a request", fields: getFields(...large), response: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun" },
  {
    what: "a response",
    fields: getFields(),
    response: `HTTP/1.1 200 OK\r\n${largeLines}Content-Length: 100\r\n\r\nbegun`,
  },
  {
    what: "an interim response",
    fields: getFields(),
    response: `HTTP/1.1 103 Early\r\n${largeLines}\r\nHTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun`,
  },
])("a stream whose response lasts does not keep the large head of $what", async ({ fields, response }) => {
  const bytes = Buffer.from(response, "latin1");
  await using backend = await openBackend((socket) => socket.once("data", () => socket.write(bytes)));
  await using path = await openProxyPath(backend.port);
  using client = await openFrameClient(path.port);
  const kept = await bytesOfStream((stream) => {
    client.send(longHeadOf(stream, fields, flag.endStream));
    return client.until(isOf(stream, frame.data));
  });
  expect(kept).toBeLessThan(bytesMax);
});

it("a stream whose upload lasts does not keep the large trailers of its response", async () => {
  const kept = async (trailer: string) => {
    const bytes = Buffer.from(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: ${trailer}\r\n\r\n`,
      "latin1",
    );
    await using backend = await openBackend((socket) => socket.once("data", () => socket.write(bytes)));
    await using path = await openProxyPath(backend.port);
    using client = await openFrameClient(path.port);
    return await bytesOfStream((stream) => {
      client.send(headersOf(stream, fieldsOf("POST"), flag.endHeaders));
      return client.until((seen) => isOf(stream, frame.headers)(seen) && (seen.flags & flag.endStream) !== 0);
    });
  };
  await kept("");
  const without = await kept("");
  expect((await kept("t".repeat(trailerBytes))) - without).toBeLessThan(trailerBytes / 2);
});

it.each([
  { what: "its request", asked: [...callFields, ...large], answered: responseFields },
  { what: "its response", asked: callFields, answered: [...responseFields, ...large] },
])("a call of gRPC that lasts does not keep the large head of $what", async ({ asked, answered }) => {
  await using sandbox = await openFrameSandbox();
  await using path = await openProxyPath(sandbox.port);
  using client = await openFrameClient(path.port);
  let calls = 0;
  const kept = await bytesOfStream(async (stream) => {
    client.send(longHeadOf(stream, asked, 0));
    calls += 1;
    await eventually(() => sandbox.calls === calls);
    sandbox.send(longHeadOf(2 * calls - 1, answered, 0));
    await client.until(isOf(stream, frame.headers));
  });
  expect(kept).toBeLessThan(bytesMax);
});
