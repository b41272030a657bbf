import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { Creations } from "./creations.ts";

const owner = (resourceVersion: string, generation = 1) => aSandbox({}, { resourceVersion, generation });

function open() {
  const clock = new FakeClock();
  return { clock, creations: new Creations(clock) };
}

describe("a creation", () => {
  it("is repeated if the child was created for this version of its owner, or a later one", () => {
    const { creations } = open();
    expect(creations.isRepeated(owner("7"), "Pod")).toBe(false);
    creations.note(owner("7"), "Pod");
    expect(creations.isRepeated(owner("7"), "Pod")).toBe(true);
    expect(creations.isRepeated(owner("6"), "Pod")).toBe(true);
    expect(creations.isRepeated(owner("8"), "Pod")).toBe(false);
    expect(creations.isRepeated(owner("7"), "Service")).toBe(false);
  });

  it("is forgotten after five minutes", async () => {
    const { clock, creations } = open();
    creations.note(owner("7"), "Pod");
    await clock.advance(300_000);
    expect(creations.isRepeated(owner("7"), "Pod")).toBe(false);
  });

  it("waits longer each time that its child is lost soon, up to half a minute", async () => {
    const { clock, creations } = open();
    const waits: number[] = [];
    for (let loss = 1; loss <= 16; loss += 1) {
      creations.note(owner("7"), "Pod");
      const waitMs = creations.waitMs(owner("7"), "Pod");
      waits.push(waitMs);
      await clock.advance(waitMs);
      expect(creations.waitMs(owner("7"), "Pod")).toBe(0);
    }
    expect(waits.slice(0, 2)).toEqual([0, expect.closeTo(10, -1)]);
    for (const [index, waitMs] of waits.slice(1, 11).entries()) expect(waitMs).toBeGreaterThan(waits[index] ?? 0);
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
    expect(Math.min(...waits.slice(-3))).toBeGreaterThanOrEqual(27_000);
  });

  it("does not wait for a child that stood for a minute, nor for an owner with another spec", async () => {
    const { clock, creations } = open();
    for (let loss = 1; loss <= 3; loss += 1) {
      creations.note(owner("7"), "Pod");
      await clock.advance(creations.waitMs(owner("7"), "Pod"));
    }
    creations.note(owner("7"), "Pod");
    expect(creations.waitMs(owner("9", 2), "Pod")).toBe(0);
    await clock.advance(60_000);
    expect(creations.waitMs(owner("7"), "Pod")).toBe(0);
    creations.note(owner("7"), "Pod");
    expect(creations.waitMs(owner("7"), "Pod")).toBe(0);
  });
});
