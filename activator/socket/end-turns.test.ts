import { once } from "node:events";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openBackend } from "../../test/support/proxy-path.ts";
import { EndTurns, endsInOneTurn } from "./end-turns.ts";
import { commonBuffer, newSocket, type SocketReader } from "./wire-socket.ts";

const crowd = 4 * endsInOneTurn;

/** Connects a crowd, lets `act` end or cut every connection at once, and returns how many were reported in each turn of the event loop. */
async function reportsByTurn(act: (other: Socket) => void): Promise<readonly number[]> {
  const others: Socket[] = [];
  await using backend = await openBackend((other) => void others.push(other.on("error", () => {})));
  let [reports, closed] = [0, 0];
  for (let left = crowd; left > 0; left -= 1) {
    const socket = newSocket();
    const reader: SocketReader = {
      wantsMore: true,
      nextBuffer: () => commonBuffer,
      take() {},
      ended() {
        reports += 1;
        socket.destroy();
      },
      drained() {},
      writeFailed: () => false,
      closed(hadError) {
        if (hadError) reports += 1;
        closed += 1;
      },
    };
    socket.connect({ port: backend.port, host: "127.0.0.1" });
    await once(socket, "connect");
    socket.reader = reader;
    socket.readOn();
  }
  while (others.length < crowd) await setImmediate();
  for (const other of others) act(other);
  const byTurn: number[] = [];
  for (let before = 0; closed < crowd; before = reports) {
    await setImmediate();
    byTurn.push(reports - before);
  }
  return byTurn;
}

describe("connections that end at once", () => {
  it.each([
    { how: "by an end", act: (other: Socket) => void other.end() },
    { how: "by a reset", act: (other: Socket) => void other.resetAndDestroy() },
  ])("$how are all reported, and not in one turn of the event loop", async ({ act }) => {
    const byTurn = await reportsByTurn(act);
    expect(byTurn.reduce((sum, each) => sum + each, 0)).toBe(crowd);
    expect(Math.max(...byTurn)).toBeLessThanOrEqual(2 * endsInOneTurn);
  });

  it("wait in order, and those that were closed meanwhile are left out", () => {
    const turns: (() => void)[] = [];
    const ends = new EndTurns<{ destroyed: boolean; endNow(): void }>((turn) => void turns.push(turn));
    const handled: number[] = [];
    const sockets = Array.from({ length: 2 * endsInOneTurn + 2 }, (_, at) => ({
      destroyed: at === endsInOneTurn,
      endNow: () => void handled.push(at),
    }));
    const atOnce = sockets.filter((socket) => ends.mayEnd(socket));
    expect(atOnce).toHaveLength(endsInOneTurn);
    expect(turns).toHaveLength(1);
    turns.pop()?.();
    expect(handled).toEqual(Array.from({ length: endsInOneTurn - 1 }, (_, at) => endsInOneTurn + 1 + at));
    turns.pop()?.();
    expect(handled.slice(-2)).toEqual([2 * endsInOneTurn, 2 * endsInOneTurn + 1]);
    turns.pop()?.();
    expect(turns).toEqual([]);
  });
});
