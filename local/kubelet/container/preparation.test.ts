import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { lateMs, leaveMs, untilLeft } from "./preparation.ts";

function begin(work: Promise<string>) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const late = vi.fn();
  const settled = vi.fn();
  untilLeft(work, { clock, signal: stop.signal, late }).then(settled, settled);
  return { clock, stop, late, settled };
}

const never = new Promise<string>(() => {});

describe("the preparation of a start", () => {
  it("that never ends is reported once, and left some time after the container is stopped", async () => {
    const { clock, stop, late, settled } = begin(never);
    await clock.advance(lateMs * 2);
    expect(late).toHaveBeenCalledOnce();
    stop.abort("stopped");
    await clock.advance(leaveMs - 1);
    expect(settled).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(settled).toHaveBeenCalledExactlyOnceWith("stopped");
  });

  it("that ends after the stop is waited for", async () => {
    const work = Promise.withResolvers<string>();
    const { clock, stop, late, settled } = begin(work.promise);
    stop.abort("stopped");
    await clock.advance(leaveMs - 1);
    work.resolve("done");
    await setImmediate();
    expect(settled).toHaveBeenCalledExactlyOnceWith("done");
    await clock.advance(lateMs);
    expect(late).not.toHaveBeenCalled();
  });
});
