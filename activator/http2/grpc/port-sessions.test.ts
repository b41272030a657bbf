import { describe, expect, it, vi } from "vitest";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { iterationSteps } from "../../../test/support/fakes/iteration-steps.ts";
import { beginCalls, callFields, openFrameSandbox } from "../../../test/support/grpc/frame-sandbox.ts";
import { startHttp2Sandbox } from "../../../test/support/grpc/http2-sandbox.ts";
import { flag, headersOf, openFrameClient, settingsOf } from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";
import { dial } from "../../connect/dial.ts";
import { idleLimits } from "../../pod-connections/idle-limits.ts";
import { Sweep } from "../../sweep.ts";
import { CallConnector } from "./call-connector.ts";
import type { PodSession } from "./pod-session.ts";
import { PodSessions } from "./pod-sessions.ts";

const maxStreams = 3;
const never = new AbortController().signal;

/** Connections to a sandbox that takes one call on each, at most so many, with a clock that stands still. */
async function openScene(stack: AsyncDisposableStack, connections?: number) {
  const sandbox = stack.use(await startHttp2Sandbox(() => {}, undefined, { maxConcurrentStreams: 1 }));
  const other = stack.use(await startHttp2Sandbox(() => {}, undefined, { maxConcurrentStreams: 1 }));
  const clock = new FakeClock();
  const sessions = stack.use(new PodSessions(idleLimits(5_000), clock, new Sweep(clock), connections));
  const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port: sandbox.port, probes: [], young: false };
  let dials = 0;
  const dialled = (port = sandbox.port) => {
    dials += 1;
    return dial({ ...target, port }, 5_000, systemClock, never);
  };
  const begin = async (port = sandbox.port) => {
    const socket = await dialled(port);
    const session = await new Promise<PodSession | undefined>((resolve) => {
      sessions.sessionFor({ target: { ...target, port }, socket }, resolve);
    });
    const stream = session?.begin(callFields.flat())?.on("error", () => {});
    if (!session || !stream) throw new Error("no call has begun");
    await eventually(() => session.room === 1);
    return {
      session,
      end: () =>
        new Promise<void>((resolve) => {
          stream.once("close", () => {
            session.over(stream, false);
            resolve();
          });
          stream.destroy();
        }),
    };
  };
  const connector = new CallConnector({ idle: () => undefined, connect: () => dialled() } as never, sessions);
  const connect = (port = sandbox.port) =>
    connector.connect({ ...target, port }, { grpc: {} } as never, { signal: never });
  return { sandbox, other, clock, sessions, target, dialled, begin, connect, dials: () => dials };
}

describe("the connections of HTTP/2 to one port", () => {
  it("are not looked at by a call if they have no room, however many there are", async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions, target, dialled, begin } = await openScene(stack);
    for (let count = 0; count < 60; count += 1) await begin();
    const socket = await dialled();
    const taken: unknown[] = [];
    const steps = iterationSteps(() => {
      expect(sessions.socketFor(target)).toBeUndefined();
      expect(sessions.takesNone(target)).toBe(false);
      sessions.sessionFor({ target, socket }, (session) => taken.push(session));
    });
    expect([taken.length, sessions.size]).toEqual([1, 61]);
    expect(steps).toBeLessThan(20);
  });

  it("are used again once one of many has room", async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions, target, begin } = await openScene(stack);
    const begun = [await begin(), await begin(), await begin()];
    await begun[1]?.end();
    expect(sessions.socketFor(target)).toBe(begun[1]?.session.socket);
  });

  it("stay idle up to 20 once a crowd of calls is over for some seconds", async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions, clock, begin } = await openScene(stack);
    const begun = [];
    for (let count = 0; count < 30; count += 1) begun.push(await begin());
    for (const each of begun) await each.end();
    await clock.advance(4_900);
    expect(sessions.size).toBe(30);
    await clock.advance(6_000);
    await eventually(() => sessions.size === 20);
  });

  it("are at most so many for each Pod: further calls wait for room, and dial none", async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions, target, begin, connect, dials } = await openScene(stack, 3);
    const begun = [await begin(), await begin(), await begin()];
    expect(sessions.takesNone(target)).toBe(true);
    const connecting = [connect(), connect()];
    const first = Promise.race(connecting);
    await begun[2]?.end();
    expect(await first).toMatchObject({ socket: begun[2]?.session.socket, isShared: true });
    expect([dials(), sessions.size]).toEqual([3, 3]);
  });

  it("leave room for the calls to another port of their Pod once they are closed", async () => {
    await using stack = new AsyncDisposableStack();
    const { sessions, other, target, begin, connect, dials } = await openScene(stack, 2);
    const begun = [await begin(), await begin()];
    expect(sessions.takesNone({ ...target, port: other.port })).toBe(true);
    const connecting = connect(other.port);
    begun[0]?.session.close();
    await connecting;
    expect(dials()).toBe(3);
  });
});

describe("calls that wait for a sandbox that takes none", () => {
  it("are not told by settings that take it back in the same read, however many there are", async () => {
    await using sandbox = await openFrameSandbox(settingsOf([maxStreams, 0]));
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    await sandbox.taken();
    client.send(...Array.from({ length: 80 }, (_, at) => headersOf(3 + 2 * at, callFields, flag.endHeaders)));
    await eventually(() => path.http2.active === 81);
    const turns = vi.spyOn(globalThis, "setImmediate");
    try {
      const pair = [settingsOf([maxStreams, 1]), settingsOf([maxStreams, 0])];
      sandbox.send(...Array.from({ length: 100 }, () => pair).flat());
      await sandbox.taken();
      expect(turns.mock.calls.length).toBeLessThan(1_000);
    } finally {
      turns.mockRestore();
    }
    expect([path.http2.active, sandbox.calls, sandbox.connections]).toEqual([81, 1, 1]);
    sandbox.send(settingsOf([maxStreams, 100]));
    await eventually(() => sandbox.calls === 81);
  });
});
