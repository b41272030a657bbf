import { constants } from "node:http2";
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
const response = [
  headersOf(1, responseFields, flag.endHeaders),
  frameOf({ type: frame.data, stream: 1 }, Buffer.alloc(21)),
  headersOf(1, [["grpc-status", "0"]], ending),
];

/** One call, to a sandbox that answers it when its client has sent the head of its request, and perhaps its end. */
async function resetsOfCall({ isEndedFirst }: { readonly isEndedFirst: boolean }): Promise<readonly number[]> {
  await using sandbox = await openFrameSandbox(settingsOf([4, 1_000]));
  await using path = await openProxyPath(sandbox.port);
  using client = await openFrameClient(path.port);
  await beginCalls(client, [1], sandbox);
  if (isEndedFirst) {
    client.send(frameOf({ type: frame.data, flags: flag.endStream, stream: 1 }, Buffer.alloc(21)));
    await eventually(() => sandbox.ends === 1);
  }
  sandbox.send(...response);
  await client.until(endsStream(1));
  await eventually(() => path.ends.length === 1);
  await sandbox.taken();
  await beginCalls(client, [3], sandbox); // its connection goes on
  expect(path.sessions).toBe(1);
  return [...sandbox.resets];
}

it("a call that both sides have ended is not reset at its sandbox", async () => {
  expect(await resetsOfCall({ isEndedFirst: true })).toEqual([]);
});

it("a call that its sandbox has ended before its client is reset there with CANCEL", async () => {
  expect(await resetsOfCall({ isEndedFirst: false })).toEqual([constants.NGHTTP2_CANCEL]);
});
