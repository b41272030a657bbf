import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { beginCalls, openFrameSandbox, responseFields } from "../../../test/support/grpc/frame-sandbox.ts";
import {
  codeOf,
  endsStream,
  fieldsOf,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  settingsOf,
} from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

// What nghttp2 and Node do: the guide tells it.

const withLength = (length: number) => [...fieldsOf("POST"), ["content-length", String(length)]] as const;
const twoBytes = (flags = 0) => frameOf({ type: frame.data, stream: 3, flags }, Buffer.alloc(2));

it("a request that is longer than its length closes its connection, and a shorter one resets its stream", async () => {
  await using backend = await openBackend(() => {});
  await using path = await openProxyPath(backend.port);
  {
    using short = await openFrameClient(path.port);
    short.send(headersOf(1, fieldsOf("POST"), flag.endHeaders), headersOf(3, withLength(9), flag.endHeaders));
    short.send(twoBytes(flag.endStream));
    expect(codeOf(await short.until(({ type }) => type === frame.reset))).toBe(1);
    expect(short.frames.some(({ type }) => type === frame.goaway)).toBe(false);
    using long = await openFrameClient(path.port);
    long.send(headersOf(1, fieldsOf("POST"), flag.endHeaders), headersOf(3, withLength(1), flag.endHeaders));
    long.send(twoBytes());
    const goaway = await long.until(({ type }) => type === frame.goaway);
    expect(goaway.payload.readUInt32BE(4)).toBe(2);
  }
  await path.empty();
});

it("a response that is longer than its length ends the calls on its connection, and the next has another", async () => {
  await using sandbox = await openFrameSandbox(settingsOf([3, 100]));
  await using path = await openProxyPath(sandbox.port);
  {
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1, 3], sandbox);
    const { connections } = sandbox;
    sandbox.send(headersOf(3, [...responseFields, ["content-length", "1"]], flag.endHeaders), twoBytes());
    for (const stream of [1, 3]) await client.until(endsStream(stream));
    await beginCalls(client, [5], sandbox);
    await eventually(() => sandbox.connections === connections + 1);
  }
  await path.empty();
});
