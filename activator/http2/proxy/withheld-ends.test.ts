import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import {
  codeOf,
  endsStream,
  type FrameClient,
  fieldsOf,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

/** All that a client permits without a WINDOW_UPDATE. The end of the stream waits for more, as nghttp2 has it. */
const windowBytes = 65_535;
const body = "x".repeat(windowBytes);

const received = ({ frames }: FrameClient) =>
  frames.filter(({ type }) => type === frame.data).reduce((sum, { payload }) => sum + payload.length, 0);

const moreWindow = [0, 1].map((stream) => frameOf({ type: frame.windowUpdate, stream }, uint32(1_000)));

/** The frames that end the stream, of a client that gives more window once it has read everything, and later. */
async function endOf(client: FrameClient): Promise<readonly string[]> {
  await eventually(() => received(client) === windowBytes);
  for (let count = 0; count < 3; count += 1) {
    const { length } = client.frames;
    client.send(frameOf({ type: frame.ping }, Buffer.alloc(8)));
    await eventually(() => client.frames.slice(length).some(({ type }) => type === frame.ping));
  }
  client.send(...moreWindow);
  await client.until(endsStream(1));
  return client.frames
    .filter(endsStream(1))
    .map((seen) => (seen.type === frame.reset ? `reset ${codeOf(seen)}` : "end"));
}

const chunk = `${windowBytes.toString(16)}\r\n${body}\r\n`;
const chunked = "Transfer-Encoding: chunked\r\n\r\n";

describe("a response that fills the window of its client to the last byte", () => {
  const requests = [
    { request: "whole", status: "200 OK" },
    { request: "begun", status: "413 Too Large" },
  ];
  const ways = [
    { way: "chunks, at once", first: `${chunked}${chunk}0\r\n\r\n`, last: undefined },
    { way: "chunks, later", first: `${chunked}${chunk}`, last: "0\r\n\r\n" },
    { way: "no length", first: `\r\n${body}`, last: "" },
  ];
  it.each(requests.flatMap((request) => ways.map((way) => ({ ...request, ...way }))))(
    "is ended before its stream is reset: a request that is $request, ended by $way",
    async ({ request, status, first, last }) => {
      let end = () => {};
      await using backend = await openBackend((socket) => {
        socket.once("data", () => socket.write(`HTTP/1.1 ${status}\r\n${first}`));
        end = () => void (last === "" ? socket.end() : socket.write(last ?? ""));
      });
      await using path = await openProxyPath(backend.port);
      {
        using client = await openFrameClient(path.port);
        const flags = request === "whole" ? flag.endStream : 0;
        client.send(
          headersOf(1, fieldsOf("POST"), flag.endHeaders),
          frameOf({ type: frame.data, stream: 1, flags }, Buffer.from("hi")),
        );
        await eventually(() => received(client) === windowBytes);
        end();
        expect((await endOf(client))[0]).toBe("end");
      }
      await path.empty();
    },
  );
});

it("a request that is reset without an error is over, although a part of its response waits", async () => {
  const length = windowBytes + 1_000;
  await using backend = await openBackend((socket) => {
    const text = `HTTP/1.1 202 Later\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length)}`;
    socket.once("data", () => socket.write(text));
  });
  await using path = await openProxyPath(backend.port);
  using client = await openFrameClient(path.port);
  client.send(headersOf(1, fieldsOf("POST"), flag.endHeaders));
  await eventually(() => received(client) === windowBytes);
  client.send(frameOf({ type: frame.reset, stream: 1 }, uint32(0)));
  await eventually(() => path.ends.length === 1);
});
