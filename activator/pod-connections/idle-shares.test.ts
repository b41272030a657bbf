import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { Random } from "../../test/http1/random.ts";
import { asSocket, FakeWire } from "../../test/http1/schedules/fake-wire.ts";
import { Link } from "./idle-list.ts";
import { IdleOfPod, IdleShares } from "./idle-shares.ts";
import type { Place } from "./place.ts";
import { Pool } from "./pool.ts";

const limits = { perPort: 1_000, perPod: 100, perNamespace: 40, total: 60 };
const at = (namespace: string, pod: string): Place => ({ namespace, podUid: pod, ip: "10.0.0.1", port: 80 });

/** The idle connections after that many requests at a time to the place. */
function crowd(pool: Pool, place: Place, size: number): readonly FakeWire[] {
  const requests = Array.from({ length: size }, () => ({ shelf: pool.begin(place, 0), wire: new FakeWire() }));
  for (const { shelf, wire } of requests) pool.put(shelf, asSocket(wire), 180_000, false);
  return requests.map(({ wire }) => wire);
}

const open = (wires: readonly FakeWire[]) => wires.filter(({ destroyed }) => !destroyed).length;

describe("beyond a limit that several Pods share", () => {
  it("a crowd at one Pod closes none of the idle connections to the others of its namespace", () => {
    using pool = new Pool(limits, new FakeClock());
    const quiet = [crowd(pool, at("a", "p1"), 3), crowd(pool, at("a", "p2"), 5)];
    const busy = crowd(pool, at("a", "busy"), 70);
    expect(quiet.map(open)).toEqual([3, 5]);
    expect([open(busy), pool.size]).toEqual([32, 40]);
  });

  it("a crowd in one namespace closes none of the idle connections in the others", () => {
    using pool = new Pool(limits, new FakeClock());
    const quiet = crowd(pool, at("quiet", "p1"), 4);
    const busy = ["a", "b", "c"].map((namespace) => crowd(pool, at(namespace, namespace), 40));
    expect(open(quiet)).toBe(4);
    expect([busy.flat().filter(({ destroyed }) => !destroyed).length, pool.size]).toEqual([56, 60]);
  });

  it("a Pod with few gets place although it comes last, from one that has most", () => {
    using pool = new Pool(limits, new FakeClock());
    const busy = crowd(pool, at("a", "busy"), 40);
    const late = crowd(pool, at("a", "late"), 6);
    expect([open(busy), open(late)]).toEqual([34, 6]);
  });

  it("many Pods with one connection each lose the one that has been idle longest", () => {
    using pool = new Pool(limits, new FakeClock());
    const each = Array.from({ length: 50 }, (_, n) => crowd(pool, at("a", `p${n}`), 1));
    expect(each.map(open)).toEqual(each.map((_, n) => (n < 10 ? 0 : 1)));
  });
});

it("no Pod has more than twice as many as the one that gives up a connection, whatever happened before", () => {
  const random = new Random(5);
  const shares = new IdleShares<number>();
  const pods = Array.from({ length: 12 }, () => new IdleOfPod<number>("a", shares));
  const links = Array.from({ length: 400 }, (_, value) => new Link(value));
  for (let round = 0; round < 2_000; round += 1) {
    const link = links[random.below(links.length)];
    const pod = pods[Math.min(random.below(pods.length), random.below(pods.length))];
    if (random.below(2) === 0) link?.leave();
    else if (link) pod?.join(link);
    const sizes = pods.map(({ size }) => size);
    const sum = sizes.reduce((all, size) => all + size, 0);
    const loser = shares.next === undefined ? undefined : links[shares.next]?.list;
    expect([shares.size, shares.namespaces]).toEqual([sum, sum > 0 ? 1 : 0]);
    expect((loser?.size ?? 0) * 2 >= Math.max(...sizes)).toBe(true);
  }
});
