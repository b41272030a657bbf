import { describe, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { beginCalls, openFrameSandbox, responseFields } from "../../../test/support/grpc/frame-sandbox.ts";
import {
  endsStream,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";

const data = (bytes: number) => frameOf({ type: frame.data, stream: 1 }, Buffer.alloc(bytes));
const resetWithoutError = frameOf({ type: frame.reset, stream: 1 }, uint32(0));
const head = headersOf(1, responseFields, flag.endHeaders);
const end = headersOf(1, [["grpc-status", "0"]], flag.endHeaders | flag.endStream);

describe("a call whose sandbox resets it without an error, while a part of the request waits", () => {
  it.each([
    { when: "before its response", frames: [] },
    { when: "within its response", frames: [head, data(100)] },
    { when: "behind its response", frames: [head, data(100), end] },
  ])("ends, and leaves its connection idle: $when", async ({ frames }) => {
    const clock = new FakeClock();
    await using sandbox = await openFrameSandbox(settingsOf([4, 1_000]));
    await using path = await openProxyPath(sandbox.port, { clock });
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    await sandbox.taken();
    client.send(...Array.from({ length: 4 }, () => data(16_000)), frameOf({ type: frame.ping }, Buffer.alloc(8)));
    await client.until(({ type }) => type === frame.ping);
    sandbox.send(...frames, resetWithoutError);
    await client.until(endsStream(1));
    await eventually(() => path.ends.length === 1);
    await clock.advance(61_000);
    await eventually(() => path.sessions === 0);
  });
});
