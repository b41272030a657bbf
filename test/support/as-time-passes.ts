import { vi } from "vitest";
import type { FakeClock } from "../../lib/time/clock.ts";
import { waiting } from "./waiting.ts";

/** Advances a clock second by second until the expectation holds, which may take real sockets some time. */
export function asTimePasses(clock: FakeClock, expectation: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(async () => {
    await clock.advance(1_000);
    await expectation();
  }, waiting);
}
