import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { beginCalls, byteOf, openFrameSandbox, responseFields } from "../../../test/support/grpc/frame-sandbox.ts";
import { flag, frame, headersOf, openFrameClient } from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";
import { deafListener } from "../../../test/support/sockets/deaf-listener.ts";
import type { OpenListener } from "../../proxy-interface.ts";

it("messages of a call are questions and answers; its head and that of its response are neither", async () => {
  const told: string[] = [];
  const listener: OpenListener = {
    ...deafListener,
    clientSpoke: () => void told.push("question"),
    sandboxSpoke: () => void told.push("answer"),
  };
  const clock = new FakeClock();
  await using sandbox = await openFrameSandbox();
  await using path = await openProxyPath(sandbox.port, { clock, onOpen: () => listener });
  using client = await openFrameClient(path.port);
  await beginCalls(client, [1], sandbox);
  await clock.advance(100); // it is an open connection from now on
  sandbox.send(headersOf(1, [[":status", "103"]], flag.endHeaders));
  sandbox.send(headersOf(1, responseFields, flag.endHeaders));
  await client.until(({ type }) => type === frame.headers);
  expect(told).toEqual([]);
  client.send(byteOf(1));
  await eventually(() => told.length === 1);
  sandbox.send(byteOf(1));
  await eventually(() => told.length === 2);
  expect(told).toEqual(["question", "answer"]);
});
