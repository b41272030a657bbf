import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { asSocket, FakeWire } from "../../test/http1/schedules/fake-wire.ts";
import type { RequestHead } from "../request.ts";
import { idleLimits } from "./idle-limits.ts";
import { Pool } from "./pool.ts";

const place = { namespace: "default", podUid: "p1", ip: "10.0.0.1", port: 80 };
const ask: RequestHead = {
  ...{ method: "GET", protocol: "HTTP/1.1", target: "/", host: "", peer: "" },
  headers: [],
  upgrade: false,
};

/** The idle connections after a thousand requests at a time. */
function crowd(pool: Pool, saidMs: number | undefined): readonly FakeWire[] {
  const requests = Array.from({ length: 1_000 }, () => ({ shelf: pool.begin(place, 0), wire: new FakeWire() }));
  for (const { shelf, wire } of requests) pool.put(shelf, asSocket(wire), saidMs, false);
  return requests.map(({ wire }) => wire);
}

const closed = (wires: readonly FakeWire[]) => wires.filter(({ destroyed }) => destroyed).length;

/** How many are closed in each 100 ms, from the first one on. */
async function closings(clock: FakeClock, wires: readonly FakeWire[]): Promise<readonly number[]> {
  const steps: number[] = [];
  for (let step = 0; step < 250; step += 1) {
    const before = closed(wires);
    await clock.advance(100);
    steps.push(closed(wires) - before);
  }
  return steps.filter((count) => count > 0);
}

const hundreds = (count: number) => Array.from({ length: count }, () => 100);

describe("many connections that are closed for the same reason", () => {
  it.each([
    { what: "their time has passed", saidMs: undefined, expected: hundreds(10) },
    { what: "nobody needs them any more, but for the last 20", saidMs: 180_000, expected: [...hundreds(9), 80] },
  ])("leave others their turn of the event loop, when $what", async ({ saidMs, expected }) => {
    const clock = new FakeClock();
    using pool = new Pool(idleLimits(5_000), clock);
    expect(await closings(clock, crowd(pool, saidMs))).toEqual(expected);
  });

  it("serve no request while they wait for that, and a request closes few of them", async () => {
    const clock = new FakeClock();
    using pool = new Pool(idleLimits(5_000), clock);
    const wires = crowd(pool, undefined);
    await clock.advance(4_000);
    const before = closed(wires);
    expect(before).toBeLessThan(200);
    expect(pool.take(place, ask)).toBeUndefined();
    expect(closed(wires) - before).toBeLessThanOrEqual(16);
  });

  it("serve no request when their Pod has lost its address, nor when it has got that back", async () => {
    const clock = new FakeClock();
    using pool = new Pool(idleLimits(5_000), clock);
    const wires = crowd(pool, 180_000);
    pool.forgetAddress(place);
    expect([closed(wires), pool.take(place, ask)]).toEqual([100, undefined]);
    pool.end(pool.begin(place, 0));
    expect(pool.take(place, ask)).toBeUndefined();
    expect(await closings(clock, wires)).toEqual(hundreds(9));
    expect([pool.size, pool.pods, pool.namespaces]).toEqual([0, 0, 0]);
  });
});
