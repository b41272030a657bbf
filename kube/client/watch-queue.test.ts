import { describe, expect, it } from "vitest";
import { nextTurn } from "../../lib/time/yielding.ts";
import type { WatchReading } from "./client.ts";
import { parseWatch } from "./watch-lines.ts";
import { WatchQueue } from "./watch-queue.ts";

/** A body of 1,000 chunks of so many bytes, and a record of how it is read. Each part is dated by its number. */
function longBody(bytes: number) {
  const state = { read: 0, closed: false, pauses: [] as boolean[] };
  const body = async function* () {
    try {
      for (let at = 0; at < 1_000; at += 1) {
        state.read += 1;
        yield Buffer.alloc(bytes, "x");
      }
    } finally {
      state.closed = true;
    }
  };
  const reading: WatchReading = {
    arrived: () => ({ wallMs: 0, ticksMs: state.read }),
    paused: (isPaused) => void state.pauses.push(isPaused),
  };
  return { state, body: body(), reading };
}

describe("the parts of a watch that wait", () => {
  it("are read without being asked for, and dated when they arrive", async () => {
    const { body, reading } = longBody(1_000);
    using queue = new WatchQueue(body, reading, 10_000);
    const parts = queue.parts();
    const first = await parts.next();
    await nextTurn();
    const second = await parts.next();
    expect([first.value?.sentSince?.ticksMs, second.value?.sentSince?.ticksMs]).toEqual([1, 2]);
  });

  it("are bounded: reading pauses, goes on once there is room, and tells both", async () => {
    const { state, body, reading } = longBody(1_000);
    using queue = new WatchQueue(body, reading, 10_000);
    await nextTurn();
    expect(state.read).toBe(8); // each counts as 1,256 bytes
    expect(state.pauses).toEqual([true]);
    const parts = queue.parts();
    await parts.next();
    await nextTurn();
    expect(state.read).toBe(8);
    await parts.next();
    await nextTurn();
    expect(state.read).toBe(9);
    expect(state.pauses).toEqual([true, false, true]);
  });

  it("are bounded in number too, where each is a single byte", async () => {
    const { state, body, reading } = longBody(1);
    using _queue = new WatchQueue(body, reading, 10_000);
    await nextTurn();
    expect(state.read).toBeLessThan(50);
  });

  it("are no longer read once the queue is left, also while reading pauses", async () => {
    const { state, body, reading } = longBody(1_000);
    {
      using _queue = new WatchQueue(body, reading, 10_000);
      await nextTurn();
    }
    await nextTurn();
    expect(state.closed).toBe(true);
  });

  it("let a line through that is longer than all that may wait", async () => {
    const line = `${JSON.stringify({ type: "ADDED", object: { pad: "x".repeat(20_000) } })}\n`;
    const body = async function* () {
      for (let at = 0; at < line.length; at += 500) yield Buffer.from(line.slice(at, at + 500));
    };
    expect(await Array.fromAsync(parseWatch(body(), { queueMax: 2_000 }))).toEqual([JSON.parse(line)]);
  });

  it("give a line the date of the part in which it begins", async () => {
    const line = `${JSON.stringify({ type: "BOOKMARK", object: {} })}\n`;
    const chunks = [line + line.slice(0, 5), line.slice(5), line];
    let part = 0;
    const body = async function* () {
      for (const chunk of chunks) {
        part += 1;
        yield Buffer.from(chunk);
      }
    };
    const reading = { arrived: () => ({ wallMs: 0, ticksMs: part }), paused: () => {} };
    const events = await Array.fromAsync(parseWatch(body(), { reading }));
    expect(events.map(({ sentSince }) => sentSince?.ticksMs)).toEqual([1, 1, 3]);
  });

  it("end the response when their reader stops in the middle", async () => {
    const { body } = longBody(1);
    const left: string[] = [];
    const line = Buffer.from(`${JSON.stringify({ type: "BOOKMARK", object: {} })}\n`);
    const whole = async function* () {
      yield line;
      yield* body;
    };
    for await (const _ of parseWatch(whole(), { onLeave: () => left.push("now") })) break;
    expect(left).toEqual(["now"]);
  });
});
