import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { Files } from "../doors/files.ts";
import { Processes } from "../doors/processes.ts";
import { Bounds, lookMs } from "./bounds.ts";
import type { WhyToEnd } from "./writers.ts";

class FullDisk extends Files {
  override async freeBytes(): Promise<number> {
    return 0;
  }
}

/** A capture of 10 s on a disk that is full. */
function openBounds(whyToEnd: () => Promise<WhyToEnd | undefined>) {
  const clock = new FakeClock();
  const order = { limitMs: 10_000, storeRoot: "/", minFreeBytes: 1, isDeleted: () => false, isGivenUp: () => false };
  const size = { writtenBytes: async () => 0, excessOf: async () => undefined };
  const bounds = new Bounds(
    { ...order, ...size, whyToEnd },
    { clock, files: new FullDisk(), processes: new Processes() },
  );
  return { clock, bounds, [Symbol.dispose]: () => bounds[Symbol.dispose]() };
}

describe("the bounds of a capture", () => {
  it("end it for want of room if nobody can tell which capture is to end", async () => {
    using world = openBounds(() => Promise.reject(new Error("EMFILE: too many open files")));
    await world.clock.advance(lookMs);
    expect(world.bounds.signal.reason).toMatchObject({ reason: "DiskFull" });
  });

  it("keep their limit of time while a look at the files hangs", async () => {
    using world = openBounds(() => new Promise(() => {}));
    await world.clock.advance(9_999);
    expect(world.bounds.signal.aborted).toBe(false);
    await world.clock.advance(1);
    expect(world.bounds.signal.reason).toMatchObject({ reason: "DeadlineExceeded" });
  });

  it("leave no timer when the capture has ended", async () => {
    const world = openBounds(async () => undefined);
    await world.clock.advance(lookMs);
    world.bounds[Symbol.dispose]();
    await world.clock.advance(0);
    expect(world.clock.pending).toBe(0);
  });
});
