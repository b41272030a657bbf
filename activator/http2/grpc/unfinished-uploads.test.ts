import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { callFields, openFrameSandbox, responseFields } from "../../../test/support/grpc/frame-sandbox.ts";
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
/** No window is given back, so a part of it waits in the activator. */
const upload = [...Array.from({ length: 4 }, () => data(16_000))];
const resetWithoutError = frameOf({ type: frame.reset, stream: 1 }, uint32(0));
const head = headersOf(1, responseFields, flag.endHeaders);
const end = headersOf(1, [["grpc-status", "0"]], flag.endHeaders | flag.endStream);

describe("a call whose sandbox resets it without an error before it has taken the request", () => {
  it.each(
    [
      { when: "before its response", frames: [], status: "14" },
      { when: "within its response", frames: [head, data(100)], status: "14" },
      { when: "behind its response", frames: [head, data(100), end], status: "0" },
    ].flatMap((each) => [
      { ...each, up: upload },
      { ...each, up: [] },
      { ...each, up: [data(2)] },
      { ...each, up: [data(990)] },
    ]),
  )("ends, and leaves its connection idle: $when", async ({ frames, up }) => {
    const clock = new FakeClock();
    // Its streams have small windows.
    await using sandbox = await openFrameSandbox(settingsOf([4, 1_000]));
    await using path = await openProxyPath(sandbox.port, { clock });
    using client = await openFrameClient(path.port);
    client.send(headersOf(1, callFields, flag.endHeaders), ...up);
    await eventually(() => sandbox.calls === 1);
    await sandbox.taken();
    sandbox.send(...frames, resetWithoutError);
    await client.until(endsStream(1));
    await eventually(() => path.ends.length === 1);
    expect(path.sessions).toBe(1);
    await clock.advance(61_000);
    await eventually(() => path.sessions === 0);
  });
});
