import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { bytesOf } from "../bytes.ts";
import { closed } from "../link.ts";
import { FrameConnection, type FrameOptions } from "./frame-connection.ts";
import type { FrameStream } from "./frame-stream.ts";
import { type Fields, fieldOf } from "./hpack.ts";

const link: FrameOptions = { windowBytes: 1_000, sharesWindow: true, frameBytes: 300, paddingBytes: 7 };
const head: Fields = [
  [":method", "POST"],
  [":path", "/"],
];

/** Two sides of one connection, and the first stream of the server. */
async function openPair(stack: AsyncDisposableStack) {
  const listening = createServer().listen(0, "127.0.0.1");
  stack.defer(() => void listening.close());
  await once(listening, "listening");
  const socket = connect((listening.address() as AddressInfo).port, "127.0.0.1");
  const [accepted] = (await once(listening, "connection")) as [Socket];
  for (const each of [socket, accepted]) stack.defer(() => void each.on("error", () => {}).destroy());
  const client = new FrameConnection(socket, "client", link);
  const server = new FrameConnection(accepted, "server", link);
  const arrived = new Promise<{ stream: FrameStream; fields: Fields }>((resolve) => {
    server.onStream = (stream, fields) => resolve({ stream, fields });
  });
  return { client, server, arrived };
}

it("carries a body that is larger than all windows, and its trailers, byte for byte", async () => {
  await using stack = new AsyncDisposableStack();
  const { client, server, arrived } = await openPair(stack);
  const up = client.open(head, false);
  const sent = bytesOf(1, 0, 200_000);
  up.trailers = [["x-end", "1"]];
  up.end(sent);
  const { stream, fields } = await arrived;
  expect(fieldOf(fields, ":path")).toBe("/");
  const parts: Buffer[] = [];
  let end: string | undefined;
  stream.onTrailers = (trailers) => {
    end = fieldOf(trailers, "x-end");
  };
  stream.on("data", (bytes: Buffer) => parts.push(bytes));
  await once(stream, "end");
  expect([Buffer.concat(parts).equals(sent), end]).toEqual([true, "1"]);
  expect([client.broken, server.broken]).toEqual([undefined, undefined]);
});

it("sends no more than the window while its stream is not read", async () => {
  await using stack = new AsyncDisposableStack();
  const { client, arrived } = await openPair(stack);
  const up = client.open(head, false);
  up.write(bytesOf(1, 0, 100_000));
  const { stream } = await arrived;
  await eventually(() => up.sendWindow < 300);
  expect(stream.readableLength).toBeLessThanOrEqual(65_535); // the window before the SETTINGS have come
  up.cut();
  await closed(stream);
  expect(stream.resetCode).toBe(8);
});
