import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Http2Stream } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
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
} from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";

const ending = flag.endHeaders | flag.endStream;
const channels = ["http2.server.stream.close", "http2.client.stream.close"] as const;

it("a closed stream refers to nothing of its exchange, on both sides of a call", async () => {
  const closed: Http2Stream[] = [];
  const note = (message: unknown) => void closed.push((message as { stream: Http2Stream }).stream);
  for (const channel of channels) subscribe(channel, note);
  try {
    await using sandbox = await openFrameSandbox(settingsOf([4, 1_000]));
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    client.send(frameOf({ type: frame.data, flags: flag.endStream, stream: 1 }, Buffer.alloc(21)));
    await eventually(() => sandbox.ends === 1);
    sandbox.send(headersOf(1, responseFields, flag.endHeaders), headersOf(1, [["grpc-status", "0"]], ending));
    await client.until(endsStream(1));
    await eventually(() => path.ends.length === 1 && closed.length === 2);
    await setImmediate();
    for (const stream of closed) {
      expect(stream.eventNames()).toEqual(["error"]);
      expect(stream.listeners("error")).toHaveLength(1);
      expect(stream.push("late")).toBe(false);
    }
  } finally {
    for (const channel of channels) unsubscribe(channel, note);
  }
});
