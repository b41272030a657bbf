import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import {
  frame,
  frameOf,
  getFields,
  headersOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";

const body = "x".repeat(120_000);
const maxConcurrentStreams = 3;

/** The value of a setting in a frame of SETTINGS. */
function settingIn(payload: Buffer, id: number): number {
  for (let at = 0; at < payload.length; at += 6)
    if (payload.readUInt16BE(at) === id) return payload.readUInt32BE(at + 2);
  throw new Error("no such setting");
}

it("a connection whose every stream keeps all that it can still gets further streams, and stays open", async () => {
  await using backend = await openStrictBackend(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await using proxyPath = await openProxyPath(backend.port, { waitingBytesMax: 1_000_000_000, readBuffers: 1_024 });
  {
    using client = await openFrameClient(proxyPath.port, [settingsOf([4, 0])]);
    const { payload } = await client.until(({ type, flags }) => type === frame.settings && flags === 0);
    const streams = settingIn(payload, maxConcurrentStreams);
    const heads = () => client.frames.filter(({ type }) => type === frame.headers).length;
    for (let at = 0; at < streams; at += 1) {
      client.send(headersOf(2 * at + 1, getFields()));
      if (at % 16 === 15) await eventually(() => heads() === at + 1);
    }
    await eventually(() => heads() === streams && proxyPath.waiting.bytes >= streams * 65_536);
    for (let at = 0; at < 50; at += 1) {
      client.send(
        frameOf({ type: frame.reset, stream: 2 * at + 1 }, uint32(8)),
        headersOf(2 * (streams + at) + 1, getFields()),
      );
      await eventually(() => heads() === streams + at + 1, 30_000);
    }
    expect(client.frames.filter(({ type }) => type === frame.reset || type === frame.goaway)).toEqual([]);
  }
  await proxyPath.empty();
  expect(proxyPath.refusals).toEqual([]);
});
