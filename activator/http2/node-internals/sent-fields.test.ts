import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Http2Stream } from "node:http2";
import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { callFields, openFrameSandbox, responseFields } from "../../../test/support/grpc/frame-sandbox.ts";
import { flag, frame, getFields, headersOf, openFrameClient } from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const channels = ["http2.server.stream.created", "http2.client.stream.created"] as const;
const long = "a".repeat(5_000);

/** The streams that Node has made for the activator meanwhile. */
function streamsMade(): { readonly streams: Http2Stream[] } & Disposable {
  const streams: Http2Stream[] = [];
  const note = (message: unknown) => void streams.push((message as { stream: Http2Stream }).stream);
  for (const channel of channels) subscribe(channel, note);
  return {
    streams,
    [Symbol.dispose]() {
      for (const channel of channels) unsubscribe(channel, note);
    },
  };
}

/** The length of the text in what a stream of Node has of its own, except for its listeners. */
function textIn(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + textIn(each), 0);
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null;
  return isPlain ? textIn(Object.values(value)) : 0;
}
const textOf = (stream: Http2Stream) =>
  Reflect.ownKeys(stream).reduce((sum, key) => sum + textIn(Reflect.get(stream, key)), 0);

it("a call of gRPC leaves no text of its heads and trailers in the streams of both sides", async () => {
  using made = streamsMade();
  await using sandbox = await openFrameSandbox();
  await using path = await openProxyPath(sandbox.port);
  using client = await openFrameClient(path.port);
  client.send(headersOf(1, [...callFields, ["x-asked", long]], flag.endHeaders));
  await eventually(() => sandbox.calls === 1);
  sandbox.send(headersOf(1, [...responseFields, ["x-answered", long]], flag.endHeaders));
  await client.until(({ type }) => type === frame.headers);
  expect(made.streams.map(textOf)).toEqual([0, 0]);
  sandbox.send(
    headersOf(
      1,
      [
        ["grpc-status", "0"],
        ["x-ended", long],
      ],
      flag.endHeaders | flag.endStream,
    ),
  );
  await client.until(({ type, flags }) => type === frame.headers && (flags & flag.endStream) !== 0);
  expect(made.streams.map(textOf)).toEqual([0, 0]);
});

it("a response over HTTP/2 leaves no text of its heads and trailers in its stream", async () => {
  const head = `HTTP/1.1 103 Early\r\nX-Early: ${long}\r\n\r\nHTTP/1.1 200 OK\r\nX-A: ${long}\r\n`;
  const bytes = `${head}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-T: ${long}\r\n\r\n`;
  using made = streamsMade();
  await using backend = await openBackend((socket) => socket.once("data", () => socket.write(bytes)));
  await using path = await openProxyPath(backend.port);
  using client = await openFrameClient(path.port);
  client.send(headersOf(1, getFields(["x-asked", long])));
  await client.until(({ type, flags }) => type === frame.headers && (flags & flag.endStream) !== 0);
  expect(client.frames.filter(({ type }) => type === frame.headers)).toHaveLength(3);
  expect(made.streams.map(textOf)).toEqual([0]);
});
