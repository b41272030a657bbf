import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/clock.ts";
import { aSandbox } from "../../test/support/builders.ts";
import { Activity } from "./activity.ts";

const head = { target: "/work", headers: [] } as const;

function given(spec: Parameters<typeof aSandbox>[0] = {}) {
  const clock = new FakeClock();
  const activity = new Activity(clock);
  const sandbox = aSandbox(spec);
  const begin = (asked: Parameters<Activity["useBy"]>[0] = head) => {
    const use = activity.useBy(asked);
    use.begin(sandbox);
    return use;
  };
  const load = () => activity.loadOf(sandbox.metadata.uid, "p1");
  return { clock, activity, sandbox, begin, load };
}

describe("the use of a sandbox", () => {
  it("is in flight from before the dial until its response has ended, and dates the activity by that end", async () => {
    const { clock, begin, load } = given();
    const use = begin();
    expect(load()).toEqual({ waiting: 1, sent: 0, ignored: 0, idleForMs: 0 });
    use.sentTo("p1");
    expect(load()).toEqual({ waiting: 0, sent: 1, ignored: 0, idleForMs: 0 });
    use.answered();
    await clock.advance(40 * 60_000);
    expect(load()).toMatchObject({ sent: 1, idleForMs: 0 });
    use.end();
    await clock.advance(3_000);
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 0, idleForMs: 3_000 });
  });

  it("is counted for the Pod that it was sent to, and no other", () => {
    const { begin, load } = given();
    begin().sentTo("former");
    expect(load().sent).toBe(0);
  });

  it("is counted for each of several Pods, in whatever order they come and end", () => {
    const { activity, sandbox, begin } = given();
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

  it.each(["never sent", "sent and not answered"])("leaves no activity behind when it was %s", async (what) => {
    const { clock, begin, load } = given();
    const use = begin();
    if (what !== "never sent") use.sentTo("p1");
    await clock.advance(1_000);
    use.end();
    use.end();
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 0, idleForMs: undefined });
  });

  it.each([
    { meaning: "Data", sentWhileOpen: 0, idleWhenQuiet: 4_000, idleAfterMove: 1_000, idleAfterEnd: 2_000 },
    { meaning: "Ignore", sentWhileOpen: 0, idleWhenQuiet: 4_000, idleAfterMove: 5_000, idleAfterEnd: 6_000 },
    { meaning: "Count", sentWhileOpen: 1, idleWhenQuiet: 0, idleAfterMove: 0, idleAfterEnd: 1_000 },
  ] as const)("when it stays open counts as openConnections says: $meaning", async (row) => {
    const { clock, begin, load } = given();
    const use = begin();
    use.sentTo("p1");
    use.answered();
    use.opened(row.meaning);
    await clock.advance(4_000);
    expect(load()).toMatchObject({ sent: row.sentWhileOpen, idleForMs: row.idleWhenQuiet });
    if (row.meaning === "Data") use.moved();
    await clock.advance(1_000);
    expect(load().idleForMs).toBe(row.idleAfterMove);
    use.end();
    await clock.advance(1_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: row.idleAfterEnd });
  });

  it("does not count where its owner said so", () => {
    const { activity, begin, load } = given({ autoSuspension: { ignoreRequests: [{ pathPrefix: "/metrics" }] } });
    const ignored = begin({ target: "/metrics?x", headers: [] });
    expect(ignored.counts).toBe(false);
    ignored.sentTo("p1");
    ignored.answered();
    ignored.moved();
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 1, idleForMs: undefined });
    expect(activity.answer({}).activities).toMatchObject([{ inFlight: 0 }]);
    ignored.end();
    expect(load()).toEqual({ waiting: 0, sent: 0, ignored: 0, idleForMs: undefined });
    expect(begin().counts).toBe(true);
  });

  it("follows its owner when what open connections mean is changed while it is open", async () => {
    const { clock, begin, load } = given();
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

describe("the answer about activity", () => {
  it("tells everything at first, and then what has changed, ends of use among it", async () => {
    const { clock, activity, begin, sandbox } = given();
    const { uid, name, namespace } = sandbox.metadata;
    const identity = { uid, name, namespace };
    const use = begin();
    const first = activity.answer({});
    expect(first).toMatchObject({ full: true, activities: [{ sandbox: identity, inFlight: 1, idleForMs: 0 }] });
    const { epoch, cursor } = first;
    expect(activity.answer({ epoch, cursor })).toEqual({ epoch, cursor, full: false, activities: [] });
    use.sentTo("p1");
    use.answered();
    use.end();
    await clock.advance(500);
    const second = activity.answer({ epoch, cursor });
    expect(second.activities).toEqual([{ sandbox: identity, inFlight: 0, idleForMs: 500 }]);
    expect(activity.answer({ epoch, cursor: second.cursor }).activities).toEqual([]);
  });

  it("is everything for who speaks of another run of the process, or of one that it cannot know", () => {
    const { activity, begin } = given();
    begin();
    const { epoch, cursor } = activity.answer({});
    expect(activity.answer({ epoch: "former", cursor }).full).toBe(true);
    expect(activity.answer({ epoch, cursor: cursor + 1 }).full).toBe(true);
    expect(new Activity(new FakeClock()).answer({}).epoch).not.toBe(epoch);
  });

  it("says which wake was the last, and forgets a sandbox that is no more", async () => {
    const { clock, activity, sandbox } = given();
    activity.woke(sandbox, 5432);
    await clock.advance(2_000);
    const wake = { generation: sandbox.metadata.generation, port: 5432, agoMs: 2_000 };
    expect(activity.answer({}).activities).toMatchObject([{ wake }]);
    activity.forget(sandbox.metadata.uid);
    expect(activity.answer({}).activities).toEqual([]);
  });

  it("does not change when the wall clock is set", async () => {
    const { clock, begin, load } = given();
    const use = begin();
    use.sentTo("p1");
    use.answered();
    use.end();
    clock.jumpWall(3_600_000);
    await clock.advance(10);
    expect(load().idleForMs).toBe(10);
  });
});
