import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import {
  answersPing,
  callFields,
  openFrameSandbox,
  pingOf,
  settingsAck,
} from "../../../test/support/grpc/frame-sandbox.ts";
import {
  flag,
  frame,
  frameOf,
  getFields,
  headersOf,
  longHeadOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const streams = 100;
/** By both heads of one response, more than the kernel takes for the connection of one client. */
const largeLines = Array.from({ length: 10 }, (_, at) => `X-F${at}: ${"~".repeat(6_000)}\r\n`).join("");
const lasting = Buffer.from(
  `HTTP/1.1 103 Early\r\n${largeLines}\r\nHTTP/1.1 200 OK\r\n${largeLines}Content-Length: 100\r\n\r\nbegun`,
  "latin1",
);

describe("heads that a client does not read", () => {
  it("count as what waits, and its connection is closed once too much waits", async () => {
    await using backend = await openBackend((socket) => socket.once("data", () => socket.write(lasting)));
    await using path = await openProxyPath(backend.port, { waitingBytesMax: 1_000_000 });
    using client = await openFrameClient(path.port);
    client.socket.pause();
    for (let index = 0; index < streams; index += 1) client.send(headersOf(2 * index + 1, getFields()));
    await eventually(() => path.refusals.includes("STALLED"), 30_000);
    client.socket.resume();
    await client.closed;
    await path.empty();
    expect(path.waiting.bytes).toBe(0);
  }, 40_000);

  it("no longer count once it has read them, although its responses last", async () => {
    await using backend = await openBackend((socket) => socket.once("data", () => socket.write(lasting)));
    await using path = await openProxyPath(backend.port);
    {
      using client = await openFrameClient(path.port);
      client.socket.pause();
      for (let index = 0; index < streams; index += 1) client.send(headersOf(2 * index + 1, getFields()));
      await eventually(() => path.waiting.bytes > 2_000_000, 30_000);
      client.socket.resume();
      await eventually(() => path.waiting.bytes === 0);
      expect(path.refusals).toEqual([]);
    }
    await path.empty();
  }, 40_000);
});

it("a sandbox that reads nothing gets another connection once many calls were given up unread", async () => {
  const fields = [...callFields, ...Array.from({ length: 10 }, (_, at) => [`x-f${at}`, "~".repeat(5_000)] as const)];
  let connections = 0;
  await using sandbox = await openBackend((socket) => {
    connections += 1;
    socket.once("data", () => {
      socket.write(Buffer.concat([settingsOf([3, 1_000]), settingsAck]));
      socket.pause();
    });
  });
  await using path = await openProxyPath(sandbox.port);
  {
    using client = await openFrameClient(path.port);
    for (let round = 0; connections < 6; round += 1) {
      expect(round).toBeLessThan(30);
      const streams = Array.from({ length: 50 }, (_, at) => 100 * round + 2 * at + 1);
      for (const part of ["calls", "resets"]) {
        for (const stream of streams) {
          const reset = frameOf({ type: frame.reset, stream }, uint32(8));
          client.send(part === "calls" ? longHeadOf(stream, fields, 0) : reset);
        }
        client.send(pingOf(`${part}${round}`));
        await client.until(answersPing(`${part}${round}`));
      }
    }
  }
  await path.empty();
}, 40_000);

it("calls that end together, and that the sandbox has read, leave their connection to others", async () => {
  await using sandbox = await openFrameSandbox();
  await using path = await openProxyPath(sandbox.port);
  using lasting = await openFrameClient(path.port);
  lasting.send(headersOf(1, callFields, flag.endHeaders));
  await eventually(() => sandbox.calls === 1);
  for (let crowd = 1; crowd <= 3; crowd += 1) {
    const client = await openFrameClient(path.port);
    const fields = [...callFields, ["x-a", "~".repeat(7_000)] as const];
    client.send(...Array.from({ length: 60 }, (_, at) => headersOf(2 * at + 1, fields, flag.endHeaders)));
    await eventually(() => sandbox.calls === 1 + 60 * crowd);
    client.socket.destroy();
    await eventually(() => path.http2.active === 1);
  }
  expect(sandbox.connections).toBe(1);
});
