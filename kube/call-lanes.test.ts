import { describe, expect, it } from "vitest";
import { CallLanes, type Lane } from "./call-lanes.ts";

const never = new AbortController().signal;

/** Enters calls one after the other, and tells which of them are under way. */
function follow(lanes: CallLanes) {
  const underWay = new Map<string, Disposable>();
  return {
    async enter(lane: Lane, ...names: readonly string[]) {
      for (const name of names) void lanes.enter(lane, never).then((pass) => underWay.set(name, pass));
      await settled();
    },
    async end(name: string) {
      underWay.get(name)?.[Symbol.dispose]();
      underWay.delete(name);
      await settled();
    },
    names: () => [...underWay.keys()],
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const numbered = (count: number) => Array.from({ length: count }, (_, at) => String(at));

describe("the lanes of calls", () => {
  it("let as many go as they are wide, in order", async () => {
    const calls = follow(new CallLanes(2));
    await calls.enter("ordinary", "a", "b", "c", "d");
    expect(calls.names()).toEqual(["a", "b"]);
    await calls.end("b");
    expect(calls.names()).toEqual(["a", "c"]);
  });

  it("let an urgent call go before all that wait", async () => {
    const calls = follow(new CallLanes(2));
    await calls.enter("ordinary", "a", "b", "c");
    await calls.enter("urgent", "u");
    await calls.end("a");
    expect(calls.names()).toEqual(["b", "u"]);
    await calls.end("b");
    expect(calls.names()).toEqual(["u", "c"]);
  });

  it("keep all but a few ordinary calls back while urgent ones are under way, and let them go after the last", async () => {
    const calls = follow(new CallLanes(10));
    await calls.enter("urgent", "u");
    await calls.enter("ordinary", ...numbered(12));
    expect(calls.names()).toEqual(["u", "0", "1", "2", "3"]);
    await calls.end("0");
    expect(calls.names()).toEqual(["u", "1", "2", "3", "4"]);
    await calls.end("u");
    expect(calls.names()).toHaveLength(10);
  });

  it("forget who does not wait any longer", async () => {
    const lanes = new CallLanes(1);
    const pass = await lanes.enter("ordinary", never);
    const leaving = new AbortController();
    const left = lanes.enter("urgent", leaving.signal);
    leaving.abort(new Error("it has left"));
    await expect(left).rejects.toThrow("it has left");
    await expect(lanes.enter("urgent", leaving.signal)).rejects.toThrow("it has left");
    const next = lanes.enter("ordinary", never);
    pass[Symbol.dispose]();
    await next;
  });
});
