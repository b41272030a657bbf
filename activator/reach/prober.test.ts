import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { Prober } from "./prober.ts";

const never = new AbortController().signal;
const ip = `127.${240 + (process.pid % 10)}.7.7`;
const port = 8888;
const target = { podUid: "p1", ip, port, probes: [], young: true };

async function listen(): Promise<{ readonly server: Server; readonly accepted: () => number } & AsyncDisposable> {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.on("error", () => {}).resume();
  });
  await once(server.listen(port, ip), "listening");
  return {
    server,
    accepted: () => accepted,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

describe("the prober of a port", () => {
  it("is one for all who wait, and gives the connection that proved it to one of them", async () => {
    const prober = new Prober(systemClock);
    const waiting = Array.from({ length: 20 }, () => prober.reach(target, never));
    expect(prober.acceptedMs(target)).toBeUndefined();
    await using open = await listen();
    const sockets = (await Promise.all(waiting)).flatMap(({ socket }) => (socket ? [socket] : []));
    expect(sockets).toHaveLength(1);
    expect(prober.acceptedMs(target)).toEqual(expect.any(Number));
    await eventually(() => open.accepted() === 1);
    for (const socket of sockets) socket.destroy();
  });

  it("stops when nobody waits any more, and lets one leave without the others", async () => {
    const prober = new Prober(systemClock);
    const leaving = new AbortController();
    const left = prober.reach(target, leaving.signal);
    const stays = prober.reach(target, never);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await using open = await listen();
    (await stays).socket?.destroy();
    await eventually(() => open.accepted() === 1);
  });

  it("forgets a port that refused, and all ports of a Pod that is gone", async () => {
    const prober = new Prober(systemClock);
    await using _open = await listen();
    const reached = async () => (await prober.reach(target, never)).socket?.destroy();
    await reached();
    prober.forget(target);
    expect(prober.acceptedMs(target)).toBeUndefined();
    await reached();
    prober.forgetPod("p1");
    expect(prober.acceptedMs(target)).toBeUndefined();
  });
});
