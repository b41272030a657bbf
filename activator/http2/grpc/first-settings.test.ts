import type { ServerHttp2Stream } from "node:http2";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  answersPing,
  beginCalls,
  callFields,
  openFrameSandbox,
  pingOf,
  settingsAck,
} from "../../../test/support/grpc/frame-sandbox.ts";
import { startHttp2Sandbox } from "../../../test/support/grpc/http2-sandbox.ts";
import { openHttp2Client, valuesOf } from "../../../test/support/http2-client.ts";
import { endsStream, flag, headersOf, openFrameClient, settingsOf } from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";

const maxStreams = 3;
const streamsOf = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + 2 * at);

describe("calls of gRPC that come before the settings of their sandbox", () => {
  it("wait for them behind the first call, and share its connection", async () => {
    await using sandbox = await openFrameSandbox("later");
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    client.send(...streamsOf(3, 30).map((stream) => headersOf(stream, callFields, flag.endHeaders)));
    await eventually(() => path.http2.active === 31);
    client.send(pingOf("all"));
    await client.until(answersPing("all"));
    expect([sandbox.calls, sandbox.connections]).toEqual([1, 1]);
    sandbox.send(settingsOf([maxStreams, 100]), settingsAck);
    await eventually(() => sandbox.calls === 31);
    expect([path.sessions, sandbox.connections]).toEqual([1, 1]);
  });

  it("are sent over further connections if the sandbox allows fewer, and none is refused", async () => {
    const waiting: ServerHttp2Stream[] = [];
    const sessions = new Set<unknown>();
    const calls = 20;
    await using sandbox = await startHttp2Sandbox(
      (stream) => {
        waiting.push(stream);
        sessions.add(stream.session);
        if (waiting.length < calls) return; // so no call waits for another
        for (const each of waiting)
          each.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "0" }, { endStream: true });
      },
      () => {},
      { maxConcurrentStreams: 4 },
    );
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port);
    const asked = { ":method": "POST", "content-type": "application/grpc" };
    const answers = await Promise.all(Array.from({ length: calls }, () => client.ask(asked, Buffer.alloc(5))));
    expect(answers.map(({ fields, code }) => [valuesOf(fields, "grpc-status"), code])).toEqual(
      Array.from({ length: calls }, () => [["0"], 0]),
    );
    expect(sessions.size).toBe(5);
  });

  it("end with the connection that brings none within 10 s", async () => {
    const clock = new FakeClock();
    await using sandbox = await openFrameSandbox("later");
    await using path = await openProxyPath(sandbox.port, { clock });
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    client.send(headersOf(3, callFields, flag.endHeaders));
    await eventually(() => path.http2.active === 2);
    await clock.advance(10_000);
    await client.until(endsStream(1));
    await eventually(() => sandbox.connections === 2);
    await clock.advance(10_000);
    await client.until(endsStream(3));
    expect(path.sessions).toBe(0);
  });

  it("end at their own time limit, and when their client leaves", async () => {
    const clock = new FakeClock();
    await using sandbox = await openFrameSandbox("later");
    await using path = await openProxyPath(sandbox.port, { clock });
    {
      using client = await openFrameClient(path.port);
      const timed = [...callFields, ["grpc-timeout", "2S"]] as const;
      const heads = [callFields, timed, callFields].map((fields, at) => headersOf(1 + 2 * at, fields, flag.endHeaders));
      client.send(...heads); // each of them dials
      await eventually(() => sandbox.calls === 1 && sandbox.connections === 3);
      client.send(headersOf(7, callFields, flag.endHeaders));
      await eventually(() => path.http2.active === 4);
      await clock.advance(2_000);
      await client.until(endsStream(3));
      expect(client.frames.some(endsStream(5))).toBe(false);
    }
    await eventually(() => path.http2.active === 0);
    expect(sandbox.calls).toBe(1);
  });

  it("are UNAVAILABLE if their own connection was closed meanwhile, and the first takes no more", async () => {
    await using sandbox = await openFrameSandbox("later");
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    client.send(headersOf(1, callFields, flag.endHeaders), headersOf(3, callFields, flag.endHeaders));
    await eventually(() => sandbox.calls === 1 && sandbox.connections === 2);
    sandbox.closeUnused();
    await eventually(() => sandbox.open === 1);
    sandbox.send(settingsOf([maxStreams, 1]), settingsAck);
    await client.until(endsStream(3));
    expect(client.frames.some(endsStream(1))).toBe(false);
    expect(path.sessions).toBe(1);
  });
});
