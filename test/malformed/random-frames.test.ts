import { expect, it } from "vitest";
import { sendRandomFrames } from "./random-frames.ts";

it.each([1, 2, 3])(
  "random frames of other clients spoil no response, and leave nothing behind (seed %i)",
  async (seed) => {
    const { sessions, served, honest, wrong } = await sendRandomFrames(seed, 150);
    expect([sessions, wrong]).toEqual([150, 0]);
    expect(served - honest).toBeGreaterThan(100);
  },
);
