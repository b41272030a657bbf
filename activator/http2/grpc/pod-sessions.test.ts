import { describe, expect, it } from "vitest";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { EchoClient, startEchoServer } from "../../../test/support/grpc/echo-service.ts";
import { beginCalls, openFrameSandbox, pingOf } from "../../../test/support/grpc/frame-sandbox.ts";
import { startHttp2Sandbox } from "../../../test/support/grpc/http2-sandbox.ts";
import { endsStream, frame, frameOf, openFrameClient, uint32 } from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";
import { dial } from "../../connect/dial.ts";
import { idleLimits } from "../../pod-connections/idle-limits.ts";
import { Sweep } from "../../sweep.ts";
import { cancelStream } from "../cancel-stream.ts";
import type { PodSession } from "./pod-session.ts";
import { PodSessions } from "./pod-sessions.ts";

const never = new AbortController().signal;

async function openSessions(port: number, limits = idleLimits(20)) {
  const clock = new FakeClock();
  const sweep = new Sweep(clock);
  const sessions = new PodSessions(limits, clock, sweep);
  const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port, probes: [], young: false };
  const begin = async (podUid = "p1", at = port) => {
    const to = { ...target, podUid, port: at };
    const socket = await dial(to, 5_000, systemClock, never);
    const session = await new Promise<PodSession | undefined>((resolve) => {
      sessions.sessionFor({ target: to, socket }, resolve);
    });
    if (!session) throw new Error("the connection was closed");
    const fields = [":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/test.Echo/Both"];
    const stream = session.begin([...fields, "content-type", "application/grpc"]);
    if (!stream) throw new Error("no call began");
    stream.on("error", () => {});
    const closed = new Promise<void>((resolve) => stream.on("close", resolve));
    return {
      session,
      async end() {
        cancelStream(stream);
        await closed;
        session.over(stream, false);
      },
    };
  };
  return { clock, sweep, sessions, target, begin };
}

describe("the connections of HTTP/2 to a Pod", () => {
  it("are shared, and close after a minute without a call", async () => {
    await using server = await startEchoServer();
    const { clock, sessions, target, begin } = await openSessions(server.port);
    const one = await begin();
    const two = await begin();
    expect(two.session).toBe(one.session);
    expect(sessions.socketFor(target)).toBe(one.session.socket);
    await one.end();
    await two.end();
    await clock.advance(59_000);
    expect(sessions.size).toBe(1);
    await clock.advance(1_000);
    await eventually(() => sessions.size === 0);
    expect(sessions.socketFor(target)).toBeUndefined();
  });

  it.each([60_000, -60_000])(
    "take no call once the wall clock has jumped by %i ms while they were idle",
    async (byMs) => {
      await using server = await startEchoServer();
      const { clock, sessions, target, begin } = await openSessions(server.port);
      const one = await begin();
      await eventually(() => one.session.room !== undefined);
      clock.jumpWall(byMs);
      expect(sessions.socketFor(target)).toBe(one.session.socket); // it is in use
      await one.end();
      clock.jumpWall(byMs); // as after a suspension of the machine, for which monotonic time stands still
      expect(sessions.socketFor(target)).toBeUndefined();
      await eventually(() => sessions.size === 0);
      expect((await begin()).session).not.toBe(one.session);
      sessions[Symbol.dispose]();
    },
  );

  it("take no call after their Pod is gone, and close with the last one", async () => {
    await using server = await startEchoServer();
    const { clock, sweep, sessions, target, begin } = await openSessions(server.port);
    const one = await begin();
    sweep.podGone(target);
    await clock.advance(100);
    expect(sessions.socketFor(target)).toBeUndefined();
    expect(sessions.size).toBe(1);
    await one.end();
    await eventually(() => sessions.size === 0);
  });

  it("are closed beyond the limits of idle ones, the most idle one first", async () => {
    await using server = await startEchoServer();
    const { sessions, begin } = await openSessions(server.port, { perPort: 20, perPod: 20, perNamespace: 2, total: 9 });
    const begun = [await begin("p1"), await begin("p2"), await begin("p3")];
    for (const each of begun) await each.end();
    await eventually(() => sessions.size === 2);
    expect(begun.map(({ session }) => session.hasRoom())).toEqual([false, true, true]);
    sessions[Symbol.dispose]();
    await eventually(() => sessions.size === 0);
  });

  it("cost no other Pod its own, when one Pod has many idle ones", async () => {
    await using server = await startEchoServer();
    await using other = await startEchoServer();
    const limits = { perPort: 20, perPod: 20, perNamespace: 2, total: 9 };
    const { sessions, target, begin } = await openSessions(server.port, limits);
    const begun = [await begin("quiet"), await begin("busy"), await begin("busy", other.port)];
    for (const each of begun) await each.end();
    await eventually(() => sessions.size === 2);
    expect(sessions.socketFor({ ...target, podUid: "quiet" })).toBe(begun[0]?.session.socket);
  });

  it("are closed if their sandbox sends interim responses without end", async () => {
    let sent = 0;
    await using sandbox = await startHttp2Sandbox((stream) => {
      const flood = () => {
        for (let count = 0; count < 50 && !stream.closed; count += 1, sent += 1)
          stream.additionalHeaders({ ":status": 103 });
        if (!stream.closed) setImmediate(flood);
      };
      flood();
    });
    await using path = await openProxyPath(sandbox.port);
    using client = new EchoClient(`127.0.0.1:${path.port}`);
    expect((await client.call("Unary", ["one"])).code).toBe(14);
    await eventually(() => path.sessions === 0);
    expect(sent).toBeLessThan(20_000);
  });

  it.each([
    { name: "GOAWAY", flood: frameOf({ type: frame.goaway }, Buffer.concat([uint32(2 ** 31 - 1), uint32(0)])) },
    { name: "ALTSVC", flood: frameOf({ type: 10 }, Buffer.from("\0\x08http://ah", "latin1")) },
    { name: "ORIGIN", flood: frameOf({ type: 12 }, Buffer.from("\0\x08http://a", "latin1")) },
    { name: "PING", flood: pingOf("flood") },
  ])("are closed if their sandbox floods with $name", async ({ flood }) => {
    await using sandbox = await openFrameSandbox();
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    sandbox.send(...Array.from({ length: 30_000 }, () => flood));
    await client.until(endsStream(1));
    await eventually(() => path.sessions === 0);
  });

  it("are not kept for a sandbox that closes them", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port);
    using client = new EchoClient(`127.0.0.1:${path.port}`);
    expect((await client.call("Unary", ["one"])).code).toBe(0);
    expect(path.sessions).toBe(1);
    await server[Symbol.asyncDispose]();
    await eventually(() => path.sessions === 0);
  });
});
