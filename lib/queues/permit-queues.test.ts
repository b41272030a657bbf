import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { PermitQueues } from "./permit-queues.ts";

function given(perSecond = 10, burst = 2) {
  const clock = new FakeClock();
  const queues = new PermitQueues({ perSecond, burst }, clock);
  const granted: string[] = [];
  return {
    ...{ clock, granted },
    /** Requests a permit under a name; false if it would come too late. */
    ask(name: string, { key = "lab", longestMs = 1_000, signal = new AbortController().signal } = {}): boolean {
      const permit = queues.take(key, longestMs, signal);
      permit?.then(
        () => granted.push(name),
        () => {},
      );
      return permit !== undefined;
    },
  };
}

describe("permits", () => {
  it("are granted at once until the burst is used up, and then by rate, in order", async () => {
    const { clock, granted, ask } = given();
    for (const name of ["a", "b", "c", "d"]) ask(name);
    await clock.advance(0);
    expect(granted).toEqual(["a", "b"]);
    await clock.advance(99);
    expect(granted).toEqual(["a", "b"]);
    await clock.advance(1);
    expect(granted).toEqual(["a", "b", "c"]);
    await clock.advance(100);
    expect(granted).toEqual(["a", "b", "c", "d"]);
    expect(clock.pending).toBe(0);
  });

  it("are not used by requests that leave the queue, and those behind move up", async () => {
    const { clock, granted, ask } = given(10, 1);
    const leaving = new AbortController();
    ask("first");
    ask("leaves", { signal: leaving.signal });
    ask("stays");
    await clock.advance(50);
    leaving.abort(new Error("left"));
    await clock.advance(50);
    expect(granted).toEqual(["first", "stays"]);
  });

  it("come as early as without the requests that have left", async () => {
    const { clock, granted, ask } = given(10, 1);
    ask("first");
    for (let round = 0; round < 9; round += 1) {
      const leaving = new AbortController();
      ask("leaves", { signal: leaving.signal });
      await clock.advance(10);
      leaving.abort(new Error("left"));
    }
    expect(clock.pending).toBe(0);
    ask("last");
    await clock.advance(11);
    expect(granted).toEqual(["first", "last"]);
  });

  it("are not promised to requests for which they would come too late", async () => {
    const { clock, granted, ask } = given(10, 1);
    ask("now");
    expect(ask("soon", { longestMs: 200 })).toBe(true);
    expect(ask("later", { longestMs: 200 })).toBe(true);
    expect(ask("too late", { longestMs: 200 })).toBe(false);
    await clock.advance(1_000);
    expect(granted).toEqual(["now", "soon", "later"]);
  });

  it("of one key are not those of another", async () => {
    const { clock, granted, ask } = given(10, 1);
    ask("a");
    ask("b");
    ask("c", { key: "other" });
    await clock.advance(0);
    expect(granted).toEqual(["a", "c"]);
  });
});
