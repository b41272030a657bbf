import { describe, expect, it } from "vitest";
import type { TcpFront } from "../../../api/between-programs/tcp-front.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { FreedAges } from "./freed-ages.ts";

const key = "lab/nova";
const front = (said: Partial<TcpFront>): TcpFront => ({ sandboxName: "nova", sandboxUid: "u1", ports: [], ...said });

function some() {
  const clock = new FakeClock(noon);
  return { clock, ages: new FreedAges(clock) };
}

describe("how long a port rests", () => {
  it("counts by the monotonic clock, however the wall clock jumps", async () => {
    const { clock, ages } = some();
    const released = front({ freedAt: noon });
    ages.see(key, released);
    clock.jumpWall(3_600_000);
    await clock.advance(1_000);
    ages.see(key, released);
    expect(ages.restedMs(key)).toEqual(new Map([[noon, 1_000]]));
    clock.jumpWall(-7_200_000);
    await clock.advance(1_000);
    ages.see(key, released);
    expect(ages.restedMs(key)).toEqual(new Map([[noon, 2_000]]));
  });

  it("is by the wall clock before this process has seen the time, and never negative", async () => {
    const { clock, ages } = some();
    const [earlier, later] = ["2026-01-01T11:59:00,0Z", "2026-01-01T12:30:00Z"];
    ages.see(
      key,
      front({ freedPorts: [earlier, later].map((freedAt, at) => ({ activatorPort: 10_001 + at, freedAt })) }),
    );
    await clock.advance(500);
    expect(ages.restedMs(key)).toEqual(
      new Map([
        [earlier, 60_500],
        [later, 500],
      ]),
    );
  });

  it("is forgotten with the slice, and with the last time in it", () => {
    const { ages } = some();
    for (const end of [() => ages.forget(key), () => ages.see(key, front({})), () => ages.see(key, undefined)]) {
      ages.see(key, front({ freedAt: noon }));
      expect(ages.size).toBe(1);
      end();
      expect([ages.size, ages.restedMs(key).size]).toEqual([0, 0]);
    }
  });
});
