import { describe, expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { ApiError } from "../client/errors.ts";
import { Notes, noteBackoff } from "./notes.ts";

const key = "example.com/note";
const full = aSandbox({}, { annotations: { a: "x".repeat(1_000) } });
const rejection = new ApiError(422, { apiVersion: "v1", kind: "Status", reason: "Invalid", message: "Too long" });
const overload = new ApiError(500, { apiVersion: "v1", kind: "Status", message: "too much to do" });

function open() {
  const clock = new FakeClock();
  const events: string[] = [];
  const lines: unknown[] = [];
  const log = { ...silentLogger, warn: (fields: unknown) => lines.push(fields) };
  const recorder = {
    record: ({ reason, note }: { reason: string; note: string }) => events.push(`${reason}: ${note}`),
    [Symbol.asyncDispose]: async () => {},
  };
  const notes = new Notes({ events: recorder, clock, log });
  let calls = 0;
  const write = (error?: Error, object = full) =>
    notes.write(object, key, async () => {
      calls += 1;
      if (error) throw error;
    });
  return { notes, clock, events, lines, write, calls: () => calls };
}

describe("a note that the API server rejects", () => {
  it("is tried again after a pause that doubles up to ten minutes, and the event comes once", async () => {
    const { clock, events, lines, write, calls } = open();
    const pausesMs: number[] = [];
    for (let attempt = 0; attempt < 14; attempt += 1) {
      const waitMs = (await write(rejection)) ?? 0;
      pausesMs.push(waitMs);
      expect(await write(rejection)).toBeCloseTo(waitMs);
      await clock.advance(waitMs);
    }
    expect(calls()).toBe(14);
    expect(pausesMs[0]).toBeLessThanOrEqual(noteBackoff.baseMs);
    expect(pausesMs.at(-1)).toBeGreaterThan(noteBackoff.maxMs / 2);
    expect(Math.max(...pausesMs)).toBeLessThanOrEqual(noteBackoff.maxMs);
    expect(events).toEqual([
      `AnnotationNotWritten: could not write the annotation ${key}, which only informs: Too long`,
    ]);
    expect(lines.length).toBeLessThan(14);
  });

  it("is tried again later also where no events are recorded", async () => {
    const notes = new Notes({ events: undefined, clock: new FakeClock(), log: silentLogger });
    expect(await notes.write(full, key, () => Promise.reject(rejection))).toBeGreaterThan(0);
  });

  it("is tried again at once when the object has fewer bytes of annotations", async () => {
    const { write, calls, notes } = open();
    await write(rejection);
    const emptied = { ...full, metadata: { ...full.metadata, annotations: {} } };
    expect(await write(undefined, emptied)).toBeUndefined();
    expect([calls(), notes.size]).toEqual([2, 0]);
  });

  it("is forgotten with its object, and of any number of objects only the last are remembered", async () => {
    const { notes } = open();
    const named = (uid: string) => ({ ...full, metadata: { ...full.metadata, uid } });
    for (let n = 0; n < 10_010; n += 1) notes.rejected(named(`uid-${n}`), key, rejection);
    expect(notes.size).toBe(10_000);
    expect(notes.waitMs(named("uid-0"), key)).toBe(0);
    expect(notes.waitMs(named("uid-10009"), key)).toBeGreaterThan(0);
    notes.forget("uid-10009");
    expect(notes.waitMs(named("uid-10009"), key)).toBe(0);
  });
});

it("a note that fails for another reason is an error of its pass, and has no pause", async () => {
  const { write, events, lines, notes } = open();
  await expect(write(overload)).rejects.toThrow(overload);
  expect([events, lines, notes.size]).toEqual([[], [], 0]);
});
