import { vi } from "vitest";
import type { FakeClock } from "../../lib/time/clock.ts";
import { waiting } from "./waiting.ts";

/** Lets a clock run, a second at once, until real sockets have brought about what is expected. */
export function asTimePasses(clock: FakeClock, expectation: () => void): Promise<void> {
  return vi.waitFor(async () => {
    await clock.advance(1_000);
    expectation();
  }, waiting);
}
