import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { getFields, headersOf, openFrameClient } from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";
import { StreamTurns } from "./stream-turns.ts";

const smallHead = 100;
const noReads = { hold() {}, release() {} };
const numbers = (length: number) => Array.from({ length }, (_, at) => at);

/** Connections that bring so many streams each, and the connections whose streams have begun, in order. */
function connectionsWith(streams: readonly number[], headBytes = smallHead) {
  const begun: number[] = [];
  const events: string[] = [];
  for (const [connection, count] of streams.entries()) {
    const reads = {
      hold: () => void events.push(`hold ${connection}`),
      release: () => void events.push(`release ${connection}`),
    };
    const turns = new StreamTurns<number>((of) => void begun.push(of), reads);
    for (let at = 0; at < count; at += 1) turns.add(connection, headBytes);
  }
  return { begun, events };
}

async function countsInTurns(begun: readonly unknown[], turns: number): Promise<number[]> {
  const counts = [begun.length];
  for (let at = 0; at < turns; at += 1) {
    await turn();
    counts.push(begun.length);
  }
  return counts;
}

describe("streams of many connections", () => {
  it("begin 32 in each turn of the event loop together, one of each connection in turn", async () => {
    await turn();
    const { begun } = connectionsWith(Array.from({ length: 12 }, () => 8));
    expect(await countsInTurns(begun, 3)).toEqual([32, 64, 96, 96]);
    // Those of four connections began as they came. The other eight take turns.
    expect(begun.slice(32, 48)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("begin two in each turn if their heads are 64 KiB long, however few bytes brought them", async () => {
    await turn();
    const { begun } = connectionsWith([2, 2, 2], 65_536);
    expect(await countsInTurns(begun, 3)).toEqual([2, 4, 6, 6]);
  });

  it("keep their connections from being read until the last of them has begun", async () => {
    await turn();
    const { begun, events } = connectionsWith([16, 16, 1, 40]);
    expect(events).toEqual(["hold 2", "hold 3"]);
    await turn();
    expect(events).toEqual(["hold 2", "hold 3", "release 2"]);
    await countsInTurns(begun, 3);
    expect(events).toEqual(["hold 2", "hold 3", "release 2", "release 3"]);
    expect(begun).toHaveLength(73);
  });
});

describe("the memory of streams that wait for their turn", () => {
  const large = 131_072;

  /** Adds streams to new connections until one of them has no room for even one. */
  async function fill() {
    await turn();
    const counts: number[] = [];
    const all: StreamTurns<number>[] = [];
    let begun = 0;
    const count = () => {
      begun += 1;
    };
    for (let added = -1; added !== 0; counts.push(added)) {
      const turns = new StreamTurns<number>(count, noReads);
      all.push(turns);
      for (added = 0; turns.hasRoom(large); added += 1) turns.add(added, large);
    }
    const sum = counts.reduce((before, count) => before + count, 0);
    const empty = async () => {
      while (begun < sum) await turn();
    };
    return { counts, all, empty };
  }

  it("is shared: a connection gets more only while it uses less than is left", async () => {
    const { counts, all, empty } = await fill();
    // A half of 64 MiB, then a half of what is left, and so on. The first stream of all began at once.
    expect(counts.slice(0, 3)).toEqual([247, 123, 62]);
    expect(all[0]?.hasRoom(1)).toBe(false);
    await empty();
    expect(all[0]?.hasRoom(large)).toBe(true);
  });

  it("is not asked for the only small head of a connection", async () => {
    const { all, empty } = await fill();
    const last = all.at(-1);
    expect([last?.hasRoom(large), last?.hasRoom(2_048)]).toEqual([false, true]);
    await empty();
  });
});

describe("streams that one read brings", () => {
  it("begin in order, sixteen in each turn of the event loop", async () => {
    const begun: number[] = [];
    await turn();
    const turns = new StreamTurns<number>((stream) => void begun.push(stream), noReads);
    const all = numbers(40);
    for (const stream of all) turns.add(stream, smallHead);
    expect(await countsInTurns(begun, 3)).toEqual([16, 32, 40, 40]);
    expect(begun).toEqual(all);
    turns.add(40, smallHead);
    expect(begun).toHaveLength(41);
  });

  it("begin in shares also when a client sends a hundred at once, and all of them are served", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = await openFrameClient(proxyPath.port);
      client.send(...Array.from({ length: 120 }, (_, at) => headersOf(2 * at + 1, getFields())));
      let [before, most] = [0, 0];
      while (before < 120) {
        await turn();
        most = Math.max(most, proxyPath.http2.active - before);
        before = proxyPath.http2.active;
      }
      // One share from the read itself, and one of the turn behind it.
      expect(most).toBeLessThanOrEqual(32);
    }
    await proxyPath.empty();
  });
});
