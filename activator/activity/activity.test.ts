import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { openActivity } from "../../test/support/activity.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { Activity } from "./activity.ts";
import type { Use } from "./use.ts";

describe("the use of a sandbox", () => {
  it("is in flight from before the dial to the end of its response, which dates the activity", async () => {
    const { clock, begin, load } = openActivity();
    const use = begin();
    expect(load()).toEqual({ waiting: 1, sent: 0, ignored: 0, idleForMs: undefined });
    use.sentTo("p1");
    expect(load()).toEqual({ waiting: 0, sent: 1, ignored: 0, idleForMs: undefined });
    use.dispatched();
    expect(load()).toEqual({ waiting: 0, sent: 1, ignored: 0, idleForMs: 0 });
    await clock.advance(40 * 60_000);
    expect(load()).toMatchObject({ sent: 1, idleForMs: 0 });
    use.end();
    await clock.advance(3_000);
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 0, idleForMs: 3_000 });
  });

  it("is counted for the Pod that it was sent to alone", () => {
    const { begin, load } = openActivity();
    begin().sentTo("former");
    expect(load().sent).toBe(0);
  });

  it("is counted for each of several Pods, in any order of begins and ends", () => {
    const { activity, sandbox, begin } = openActivity();
    const sent = () => ["p1", "p2", "p3"].map((podUid) => activity.loadOf(sandbox.metadata.uid, podUid).sent);
    const sendTo = (podUid: string) => {
      const use = begin();
      use.sentTo(podUid);
      return use;
    };
    const [first, second, third] = [sendTo("p1"), sendTo("p2"), sendTo("p2")];
    expect(sent()).toEqual([1, 2, 0]);
    first.end();
    expect(sent()).toEqual([0, 2, 0]);
    const [fourth, fifth] = [sendTo("p2"), sendTo("p1")];
    expect(sent()).toEqual([1, 3, 0]);
    for (const use of [second, fourth, fifth]) use.end();
    expect(sent()).toEqual([0, 1, 0]);
    sendTo("p3");
    third.end();
    expect(sent()).toEqual([0, 0, 1]);
  });

  it.each(["held", "given a connection"])("leaves no activity when it was only %s", async (what) => {
    const { clock, begin, load } = openActivity();
    const use = begin();
    if (what !== "held") use.sentTo("p1");
    await clock.advance(1_000);
    expect(load().idleForMs).toBeUndefined();
    use.end();
    use.end();
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 0, idleForMs: undefined });
  });

  it.each([
    { meaning: "Data", sentWhileOpen: 0, idleWhenQuiet: 4_000, idleAfterMove: 1_000, idleAfterEnd: 2_000 },
    { meaning: "Ignore", sentWhileOpen: 0, idleWhenQuiet: 4_000, idleAfterMove: 5_000, idleAfterEnd: 6_000 },
    { meaning: "Count", sentWhileOpen: 1, idleWhenQuiet: 0, idleAfterMove: 0, idleAfterEnd: 1_000 },
  ] as const)("when it stays open counts by openConnections: $meaning", async (row) => {
    const { clock, begin, load } = openActivity();
    const use = begin();
    use.sentTo("p1");
    use.opened(row.meaning);
    await clock.advance(4_000);
    expect(load()).toMatchObject({ sent: row.sentWhileOpen, idleForMs: row.idleWhenQuiet });
    use.moved();
    await clock.advance(1_000);
    expect(load().idleForMs).toBe(row.idleAfterMove);
    use.end();
    await clock.advance(1_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: row.idleAfterEnd });
  });

  it("does not count if ignoreRequests matches it", () => {
    const { activity, begin, load } = openActivity({
      autoSuspension: { ignoreRequests: [{ pathPrefix: "/metrics" }] },
    });
    const ignored = begin({ target: "/metrics?x", headers: [] });
    expect(ignored.counts).toBe(false);
    ignored.sentTo("p1");
    ignored.dispatched();
    ignored.moved();
    ignored.asked();
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 1, idleForMs: undefined });
    expect(activity.answer({}).activities).toMatchObject([{ inFlight: 0 }]);
    ignored.end();
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 0, idleForMs: undefined });
    expect(begin().counts).toBe(true);
  });

  it("follows a change of openConnections while it is open", async () => {
    const { clock, begin, load } = openActivity();
    const use = begin();
    use.sentTo("p1");
    use.opened("Ignore");
    await clock.advance(1_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 1_000 });
    use.opened("Count");
    expect(load()).toMatchObject({ sent: 1, idleForMs: 0 });
    use.opened("Data");
    await clock.advance(1_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 1_000 });
    use.end();
    use.opened("Count");
    expect(load()).toMatchObject({ sent: 0 });
  });
});

describe("the last activity", () => {
  it("never moves back when uses begin, end or expire", async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = seededRandom(seed);
      const lab = openActivity({ autoSuspension: { unansweredLimitSeconds: 3 } });
      const uses: Use[] = [];
      const acts: ((use: Use) => void)[] = [
        (use) => use.sentTo("p1"),
        (use) => use.dispatched(),
        (use) => use.opened(random.oneOf(["Data", "Count", "Ignore"])),
        (use) => void use.asked(),
        (use) => void use.answered(),
        (use) => void use.moved(),
        (use) => use.closing(),
        (use) => use.end(),
        () => void uses.push(lab.begin()),
        () =>
          lab.activity.saw({
            ...lab.sandbox,
            spec: { ...lab.sandbox.spec, autoSuspension: { unansweredLimitSeconds: random.below(5) } },
          }),
      ];
      let before = Number.NEGATIVE_INFINITY;
      uses.push(lab.begin());
      for (let step = 0; step < 200; step += 1) {
        random.oneOf(acts)(random.oneOf(uses));
        if (random.below(3) === 0) await lab.clock.advance(random.below(2_000));
        const [reported] = lab.activity.answer({}).activities;
        const lastMs = lab.clock.ticksMs() - (reported?.idleForMs ?? 0);
        expect(lastMs, `seed ${seed}, step ${step}`).toBeGreaterThanOrEqual(before);
        before = lastMs;
      }
      for (const use of uses) use.end();
      expect(lab.load()).toMatchObject({ waiting: 0, sent: 0, ignored: 0 });
    }
  });
});

describe("the answer about activity", () => {
  it("has everything at first, and then changes alone, including ends of use", async () => {
    const { clock, activity, begin, sandbox } = openActivity();
    const { uid, name, namespace } = sandbox.metadata;
    const identity = { uid, name, namespace };
    const use = begin();
    const first = activity.answer({});
    expect(first).toMatchObject({ full: true, activities: [{ sandbox: identity, inFlight: 1, idleForMs: 0 }] });
    const { epoch, cursor } = first;
    expect(activity.answer({ epoch, cursor })).toEqual({ epoch, cursor, full: false, activities: [] });
    use.sentTo("p1");
    use.dispatched();
    use.end();
    await clock.advance(500);
    const second = activity.answer({ epoch, cursor });
    expect(second.activities).toEqual([{ sandbox: identity, inFlight: 0, idleForMs: 500 }]);
    expect(activity.answer({ epoch, cursor: second.cursor }).activities).toEqual([]);
  });

  it("has everything for a cursor of another process or a cursor from the future", () => {
    const { activity, begin } = openActivity();
    begin();
    const { epoch, cursor } = activity.answer({});
    expect(activity.answer({ epoch: "former", cursor }).full).toBe(true);
    expect(activity.answer({ epoch, cursor: cursor + 1 }).full).toBe(true);
    expect(new Activity(new FakeClock()).answer({}).epoch).not.toBe(epoch);
  });

  it("names the last wake, and forgets a deleted sandbox", async () => {
    const { clock, activity, sandbox } = openActivity();
    activity.woke(sandbox, 5432);
    await clock.advance(2_000);
    const wake = { generation: sandbox.metadata.generation, port: 5432, agoMs: 2_000 };
    expect(activity.answer({}).activities).toMatchObject([{ wake }]);
    activity.forget(sandbox.metadata.uid);
    expect(activity.answer({}).activities).toEqual([]);
  });

  it("does not change when the wall clock is set", async () => {
    const { clock, begin, load } = openActivity();
    const use = begin();
    use.sentTo("p1");
    use.dispatched();
    use.end();
    clock.jumpWall(3_600_000);
    await clock.advance(10);
    expect(load().idleForMs).toBe(10);
  });
});
