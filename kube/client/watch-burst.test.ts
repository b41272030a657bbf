import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { nextTurn } from "../../lib/time/yielding.ts";
import { parseWatch } from "./watch-lines.ts";
import { WatchSlices } from "./watch-slices.ts";

/** Of a line. */
const eventBytes = 8 * 1024;

/** So many events of 8 KiB each. */
const burst = (name: string, count: number): Buffer[] =>
  Array.from({ length: count }, (_, at) => {
    const line = JSON.stringify({ type: "ADDED", object: { metadata: { name: `${name}-${at}` }, pad: "" } });
    return Buffer.from(`${line.replace('""', `"${"x".repeat(eventBytes - line.length)}"`)}\n`);
  });

async function* bodyOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** Each reading of its clock is so much later, as if the work before it took that long. */
function slowSlices(stepMs: number): WatchSlices {
  let nowMs = 0;
  const ticksMs = () => {
    nowMs += stepMs;
    return nowMs;
  };
  return new WatchSlices(Object.assign(new FakeClock(), { ticksMs }));
}

/** Reads a whole watch. Returns the names of its objects, and in which turn of the event loop each was handled. */
async function handle(body: AsyncIterable<Uint8Array>, slices: WatchSlices, order: string[] = []) {
  let turn = 0;
  let isOver = false;
  const counted = (async () => {
    for (; !isOver; turn += 1) await nextTurn();
  })();
  const names: string[] = [];
  const turns: number[] = [];
  for await (const event of parseWatch<KubeObject>(body, { slices })) {
    const name = event.type === "ERROR" ? "" : (event.object.metadata.name ?? "");
    names.push(name);
    order.push(name);
    turns.push(turn);
  }
  isOver = true;
  await counted;
  const inOneTurn = [...Map.groupBy(turns, (each) => each).values()].map(({ length }) => length);
  return { names, inOneTurn };
}

describe("a burst of watch events", () => {
  it("leaves timers and sockets their turn, and is whole and in order", async () => {
    const { names, inOneTurn } = await handle(bodyOf(Buffer.concat(burst("a", 100))), slowSlices(1));
    expect(names).toEqual(Array.from({ length: 100 }, (_, at) => `a-${at}`));
    expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(20);
  });

  it("is handled in pieces of 64 KiB at least, also where each event lasts longer than a slice", async () => {
    const { names, inOneTurn } = await handle(bodyOf(...burst("a", 80)), slowSlices(60_000));
    expect(names).toHaveLength(80);
    expect(inOneTurn).toEqual(Array.from({ length: 10 }, () => (64 * 1024) / eventBytes));
  });

  it("of one watch lets the events of another through", async () => {
    const slices = slowSlices(1);
    const order: string[] = [];
    const whole = (name: string, count: number) => handle(bodyOf(...burst(name, count)), slices, order);
    await Promise.all([whole("long", 300), whole("short", 10)]);
    expect(order.findLastIndex((name) => name.startsWith("short"))).toBeLessThan(60);
  });

  it("goes on in each turn for all watches together, and not for one event in each", async () => {
    const slices = slowSlices(60_000);
    const watches = ["a", "b", "c"].map((name) => handle(bodyOf(...burst(name, 80)), slices));
    for (const { inOneTurn } of await Promise.all(watches)) expect(inOneTurn.length).toBeLessThanOrEqual(32);
  });

  it("that arrived before an error is handled before the error, however long it waits", async () => {
    const failure = new Error("the connection broke");
    const body = async function* () {
      yield* burst("a", 40);
      throw failure;
    };
    const names: unknown[] = [];
    const reading = async () => {
      for await (const { object } of parseWatch(body(), { slices: slowSlices(60_000) })) names.push(object);
    };
    await expect(reading()).rejects.toBe(failure);
    expect(names).toHaveLength(40);
  });
});
