import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { CallLanes } from "./call-lanes.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));
const nothing = new AbortController().signal;

/** A client whose calls end on command, behind the lanes. */
async function openLanes(atRest = { from: 3, to: 5 }) {
  const api = await openMemoryApi();
  const clock = new FakeClock();
  const underWay = new Map<string, PromiseWithResolvers<void>>();
  const client = interceptCalls(api.client, async ({ name }) => {
    const call = Promise.withResolvers<void>();
    underWay.set(name, call);
    await call.promise;
    underWay.delete(name);
  });
  const lanes = new CallLanes({ clock, atRest, inRush: { from: 1, to: 3 }, stepMs: 100 });
  const caller =
    (lane: typeof client) =>
    (name: string, signal: AbortSignal = nothing, namespace = "default") =>
      lane.get(configMapType, { namespace, name }, signal);
  return {
    clock,
    atOnce: caller(lanes.atOnce(client)),
    slowly: caller(lanes.slowly(client)),
    async underWay() {
      await settled();
      return [...underWay.keys()];
    },
    async end(name: string) {
      underWay.get(name)?.resolve();
      await settled();
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

it("low-priority calls run in order, a few at a time", async () => {
  await using lanes = await openLanes();
  const calls = ["a", "b", "c", "d", "e"].map((name) => lanes.slowly(name));
  expect(await lanes.underWay()).toEqual(["a", "b", "c"]);
  await lanes.end("b");
  expect(await lanes.underWay()).toEqual(["a", "c", "d"]);
  for (const name of ["a", "c", "d", "e"]) await lanes.end(name);
  await Promise.all(calls);
});

it("high-priority calls start at once; low-priority calls wait until those have ended", async () => {
  await using lanes = await openLanes();
  const calls = ["1", "2", "3", "4"].map((name) => lanes.atOnce(name));
  calls.push(...["a", "b", "c"].map((name) => lanes.slowly(name)));
  expect(await lanes.underWay()).toEqual(["1", "2", "3", "4", "a"]);
  await lanes.end("1");
  await lanes.end("2");
  await lanes.end("3");
  expect(await lanes.underWay()).toEqual(["4", "a"]);
  await lanes.end("4");
  expect(await lanes.underWay()).toEqual(["a", "b", "c"]);
  for (const name of ["a", "b", "c"]) await lanes.end(name);
  await Promise.all(calls);
});

it("the longer the first in line has waited, the more calls go by the slow lane, up to a limit", async () => {
  await using lanes = await openLanes();
  const names = ["a", "b", "c", "d"];
  const calls = [lanes.atOnce("1"), ...names.map((name) => lanes.slowly(name))];
  expect(await lanes.underWay()).toEqual(["1", "a"]);
  await lanes.clock.advance(100);
  expect(await lanes.underWay()).toEqual(["1", "a", "b"]);
  await lanes.clock.advance(100);
  expect(await lanes.underWay()).toEqual(["1", "a", "b", "c"]);
  await lanes.clock.advance(1_000);
  expect(await lanes.underWay()).toEqual(["1", "a", "b", "c"]);
  for (const name of ["1", ...names]) await lanes.end(name);
  await Promise.all(calls);
  await lanes.clock.advance(100);
  expect(lanes.clock.pending).toBe(0);
});

it("slow low-priority calls do not delay the next ones while no high-priority call is in flight", async () => {
  await using lanes = await openLanes();
  const names = ["a", "b", "c", "d", "e", "f"];
  const calls = names.map((name) => lanes.slowly(name));
  expect(await lanes.underWay()).toEqual(["a", "b", "c"]);
  await lanes.clock.advance(200);
  expect(await lanes.underWay()).toEqual(["a", "b", "c", "d", "e"]);
  await lanes.clock.advance(1_000);
  expect(await lanes.underWay()).toEqual(["a", "b", "c", "d", "e"]);
  for (const name of names) await lanes.end(name);
  await Promise.all(calls);
});

it("a failed call frees its place, and an aborted waiting call is never made", async () => {
  await using lanes = await openLanes();
  const first = ["a", "b", "c"].map((name) => lanes.slowly(name));
  const stop = new AbortController();
  const givenUp = lanes.slowly("d", stop.signal);
  const last = lanes.slowly("e");
  stop.abort(new Error("no longer wanted"));
  await expect(givenUp).rejects.toThrow("no longer wanted");
  await lanes.end("a");
  expect(await lanes.underWay()).toEqual(["b", "c", "e"]);
  for (const name of ["b", "c", "e"]) await lanes.end(name);
  await Promise.all([...first, last]);
  await expect(lanes.slowly("f", stop.signal)).rejects.toThrow("no longer wanted");
});

it("a low-priority call starts beside those of another namespace, not behind them", async () => {
  await using lanes = await openLanes();
  const crowd = ["a", "b", "c", "d", "e", "f", "g"];
  const calls = crowd.map((name) => lanes.slowly(name));
  calls.push(lanes.slowly("other", nothing, "lab"));
  expect(await lanes.underWay()).toEqual(["a", "b", "c"]);
  await lanes.end("a");
  await lanes.end("b");
  expect(await lanes.underWay()).toEqual(["c", "d", "other"]);
  for (const name of ["c", "d", "other", "e", "f", "g"]) await lanes.end(name);
  await Promise.all(calls);
});

it("low-priority calls of one namespace that hang leave room for those of others, which start at once", async () => {
  await using lanes = await openLanes({ from: 2, to: 8 });
  const crowd = Array.from({ length: 20 }, (_, at) => `c${at}`);
  const calls = crowd.map((name) => lanes.slowly(name));
  await lanes.clock.advance(5_000);
  expect(await lanes.underWay()).toEqual(crowd.slice(0, 8));
  calls.push(lanes.slowly("other", nothing, "lab"));
  expect(await lanes.underWay()).toEqual([...crowd.slice(0, 8), "other"]);
  await lanes.end("other");
  expect(await lanes.underWay()).toEqual(crowd.slice(0, 8));
  for (const name of crowd) await lanes.end(name);
  await Promise.all(calls);
});

it.each(["atOnce", "slowly"] as const)("a call that may not be made is none, and takes no place: %s", async (lane) => {
  await using api = await openMemoryApi();
  let made = 0;
  const client = interceptCalls(api.client, async () => {
    made += 1;
  });
  let isOver = true;
  const mayCall = () => {
    if (isOver) throw new Error("the lease is over");
  };
  const lanes = new CallLanes({ clock: new FakeClock(), atRest: { from: 1, to: 1 }, mayCall });
  const get = () => lanes[lane](client).get(configMapType, { namespace: "default", name: "a" });
  await expect(get()).rejects.toThrow("the lease is over");
  expect(made).toBe(0);
  isOver = false;
  await get();
  expect(made).toBe(1);
});
