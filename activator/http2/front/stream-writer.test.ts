import { once } from "node:events";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import {
  answersPing,
  beginCalls,
  byteOf,
  openFrameSandbox,
  pingOf,
  responseFields,
} from "../../../test/support/grpc/frame-sandbox.ts";
import { memoryBytesOf } from "../../../test/support/heap-bytes.ts";
import {
  type FrameClient,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";
import { StreamWriter } from "./stream-writer.ts";

const initialWindow = 4;
const closed = settingsOf([initialWindow, 0]);

it("what waits for a stream has the limit of Node that the page of limits tells, 65,536 bytes", async () => {
  const server = createServer().on("stream", (stream) => stream.respond(undefined, { endStream: true }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [[accepted], asked] = await Promise.all([once(server, "stream"), session.request().resume()]);
  expect([accepted.writableHighWaterMark, asked.writableHighWaterMark]).toEqual([65_536, 65_536]);
  session.destroy();
  server.close();
});

it("all streams that close before Node reports their last write share one error", async () => {
  const errors = new Set<unknown>();
  const server = createServer().on("stream", (stream) => {
    const out = new StreamWriter(stream, () => {});
    stream.on("error", (error) => errors.add(error));
    const answer = () => {
      stream.respond({ ":status": 200 });
      out.write(Buffer.from("all of it"));
      stream.end((...failed: unknown[]) => errors.add(failed[0])); // what waits for the end learns of the error
    };
    stream.resume().on("end", () => setImmediate(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (let asked = 0; asked < 3; asked += 1) {
    const stream = session.request();
    expect((await stream.toArray()).toString()).toBe("all of it");
    await once(stream, "close");
  }
  await eventually(() => errors.size > 0);
  expect([...errors].map(String)).toEqual(["Error: the stream is closed"]);
  session.destroy();
  server.close();
});

/** How many bytes the client may have sent on that stream. */
function windowsOf(client: FrameClient, stream: number): number {
  return client.frames
    .filter((seen) => seen.type === frame.windowUpdate && seen.stream === stream)
    .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 65_535);
}

describe("what waits for a stream takes memory for its bytes,", { timeout: 60_000 }, () => {
  it("however many frames a sandbox sends it in", { timeout: 60_000 }, async () => {
    await using sandbox = await openFrameSandbox();
    await using proxyPath = await openProxyPath(sandbox.port);
    using client = await openFrameClient(proxyPath.port, [closed]);
    const streams = Array.from({ length: 9 }, (_, at) => 2 * at + 1);
    await beginCalls(client, streams, sandbox);
    const send = async (some: readonly number[]) => {
      for (const stream of some) {
        const bytes = Array.from({ length: 12_000 }, () => byteOf(stream));
        sandbox.send(headersOf(stream, responseFields, flag.endHeaders), ...bytes);
      }
      await sandbox.taken();
    };
    await send(streams.slice(0, 1)); // what is made once
    const bytes = await memoryBytesOf(() => send(streams.slice(1)));
    expect(bytes / 8).toBeLessThan(100_000);
  });

  it("not for the reads that they came in", { timeout: 60_000 }, async () => {
    // The first call may send nothing to its sandbox, and the second anything.
    await using sandbox = await openFrameSandbox(closed);
    await using proxyPath = await openProxyPath(sandbox.port);
    using client = await openFrameClient(proxyPath.port);
    await beginCalls(client, [1, 3], sandbox);
    const open = (stream: number) => frameOf({ type: frame.windowUpdate, stream }, uint32(2 ** 30));
    sandbox.send(open(0), open(3));
    const rest = frameOf({ type: frame.data, stream: 3 }, Buffer.alloc(16_000));
    let sent = 0;
    const send = async (pieces: number) => {
      for (let at = 0; at < pieces; at += 1) {
        await eventually(() => windowsOf(client, 3) > sent + 32_000);
        sent += 32_000;
        client.send(byteOf(1), rest, rest);
      }
      client.send(pingOf(`p${pieces}`));
      await client.until(answersPing(`p${pieces}`));
    };
    await send(10);
    expect(await memoryBytesOf(() => send(200))).toBeLessThan(1_000_000);
  });
});
