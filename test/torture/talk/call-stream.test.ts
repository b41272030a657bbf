import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { bytesOf } from "../bytes.ts";
import { fieldOf } from "../http2/hpack.ts";
import { closed, watchEnding } from "../link.ts";
import { dialPlain } from "../world.ts";
import { CallStream } from "./call-stream.ts";

/** A call, and the server's side of its connection with what it has received. */
async function openCall(stack: AsyncDisposableStack, length?: number) {
  const listening = createServer().listen(0, "127.0.0.1");
  stack.defer(() => void listening.close());
  await once(listening, "listening");
  const connection = dialPlain({ host: "127.0.0.1", port: (listening.address() as AddressInfo).port });
  const [server] = (await once(listening, "connection")) as [Socket];
  stack.defer(() => void server.on("error", () => {}).destroy());
  const came = { text: "" };
  server.on("data", (bytes: Buffer) => {
    came.text += bytes.toString("latin1");
  });
  const call = new CallStream(connection, length);
  stack.defer(() => call.cut());
  const heard = { status: "", body: Buffer.alloc(0) };
  call.onHead = (fields) => {
    heard.status = fieldOf(fields, ":status") ?? "";
  };
  call.on("data", (bytes: Buffer) => {
    heard.body = Buffer.concat([heard.body, bytes]);
  });
  return { call, server, came, heard };
}

const answer = (body: Buffer) =>
  Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`), body]);

it("sends a call in chunks or with its length, and ends with the response", async () => {
  for (const [length, form] of [
    [undefined, "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
    [5, "Content-Length: 5\r\n\r\nhello"],
  ] as const) {
    await using stack = new AsyncDisposableStack();
    const { call, server, came, heard } = await openCall(stack, length);
    const ends = watchEnding(call);
    call.sendHead("/t/1", []);
    call.end("hello");
    await eventually(() => came.text.endsWith(form));
    server.write(answer(bytesOf(1, 0, 200_000)));
    await closed(call);
    expect([heard.status, ends.ending]).toEqual(["200", "ended"]);
    expect(heard.body).toEqual(bytesOf(1, 0, 200_000));
  }
});

it("is broken if its connection ends within the response", async () => {
  await using stack = new AsyncDisposableStack();
  const { call, server, heard } = await openCall(stack);
  const ends = watchEnding(call);
  call.sendHead("/t/1", []);
  call.end();
  server.write(answer(Buffer.alloc(100)).subarray(0, -1));
  await eventually(() => heard.body.length === 99);
  server.destroy();
  await closed(call);
  expect(ends.ending).toBe("broken");
});
