import { describe, expect, it } from "vitest";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  answersPing,
  beginCalls,
  callFields,
  openFrameSandbox,
  pingOf,
} from "../../../test/support/grpc/frame-sandbox.ts";
import { flag, headersOf, openFrameClient, settingsOf } from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";
import { dial } from "../../connect/dial.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { idleLimits } from "../../pod-connections/idle-limits.ts";
import { Sweep } from "../../sweep.ts";
import { CallConnector } from "./call-connector.ts";
import type { PodSession } from "./pod-session.ts";
import { PodSessions } from "./pod-sessions.ts";

const maxStreams = 3;
const none = settingsOf([maxStreams, 0]);
const call = (stream: number) => headersOf(stream, callFields, flag.endHeaders);

/** The connections to that port, with a clock that stands still. */
function openSessions(port: number) {
  const clock = new FakeClock();
  const sessions = new PodSessions(idleLimits(20), clock, new Sweep(clock));
  const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port, probes: [], young: false };
  const dialled = () => dial(target, 5_000, systemClock, new AbortController().signal);
  return { clock, sessions, target, dialled, [Symbol.dispose]: () => sessions[Symbol.dispose]() };
}

describe("calls of gRPC to a sandbox that takes none at the moment", () => {
  it("wait on the connection that it has, and begin once it takes some", async () => {
    await using sandbox = await openFrameSandbox(none);
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    await sandbox.taken();
    client.send(...Array.from({ length: 30 }, (_, at) => call(3 + 2 * at)), pingOf("all"));
    await client.until(answersPing("all"));
    await eventually(() => path.http2.active === 31);
    expect([sandbox.calls, sandbox.connections]).toEqual([1, 1]);
    sandbox.send(none);
    await sandbox.taken();
    expect([sandbox.calls, sandbox.connections]).toEqual([1, 1]);
    sandbox.send(settingsOf([maxStreams, 100]));
    await eventually(() => sandbox.calls === 31);
    expect([path.sessions, sandbox.connections]).toEqual([1, 1]);
  });

  it("close the connection that they have already, and end after 10 s if none has begun", async () => {
    await using sandbox = await openFrameSandbox(none);
    using scene = openSessions(sandbox.port);
    const { sessions, clock, target } = scene;
    const sockets = await Promise.all([scene.dialled(), scene.dialled(), scene.dialled()]);
    const taken: unknown[] = [];
    const take = (session?: PodSession) => {
      taken.push(session);
      session?.begin(callFields.flat())?.on("error", () => {});
    };
    for (const socket of sockets) sessions.sessionFor({ target, socket }, take);
    await eventually(() => sockets.filter(({ destroyed }) => destroyed).length === 2);
    await clock.advance(9_000);
    expect(taken).toHaveLength(1);
    await clock.advance(1_100);
    await eventually(() => taken.length === 3);
    expect([taken[1], taken[2], sessions.size]).toEqual([undefined, undefined, 1]);
  });

  it("end at the limit of held requests, without another connection", async () => {
    await using sandbox = await openFrameSandbox(none);
    using scene = openSessions(sandbox.port);
    const { sessions, clock, target } = scene;
    const socket = await scene.dialled();
    sessions.sessionFor({ target, socket }, (session) => session?.unused());
    await eventually(() => sessions.takesNone(target));
    const over = new AbortController();
    const connecting = new CallConnector({ idle: () => undefined } as never, sessions).connect(
      target,
      { grpc: {} } as never,
      { signal: over.signal },
    );
    await clock.advance(60_000);
    over.abort(new ActivatorError("WakeTimedOut"));
    await expect(connecting).rejects.toMatchObject({ code: "WakeTimedOut" });
    expect(sandbox.connections).toBe(1);
    await clock.advance(60_000);
    expect(sessions.size, "it is idle from then on").toBe(0);
  });
});
