import { describe, expect, it } from "vitest";
import { suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import { inactivityAt } from "../../api/rules/suspension.ts";
import { openActivity } from "../../test/support/activity.ts";

describe("data that a sandbox has not answered", () => {
  it("is in flight until the sandbox sends any later byte, and dates the activity by that byte", async () => {
    const { clock, activity, open, load } = openActivity();
    const use = open();
    await clock.advance(5_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 5_000 });
    use.asked();
    await clock.advance(9_000);
    expect(load()).toMatchObject({ sent: 1, idleForMs: 0 });
    expect(activity.answer({}).activities).toMatchObject([{ inFlight: 1, idleForMs: 0 }]);
    use.answered();
    await clock.advance(1_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 1_000 });
    expect(activity.answer({}).activities).toMatchObject([{ inFlight: 0, idleForMs: 1_000 }]);
  });

  it("is in flight to the Pod that it was sent to alone", () => {
    const { activity, sandbox, open } = openActivity();
    open().asked();
    expect(activity.loadOf(sandbox.metadata.uid, "p2").sent).toBe(0);
  });

  it("is in flight until its connection is over, whose end dates the activity", async () => {
    const { clock, open, load } = openActivity();
    const use = open();
    use.asked();
    await clock.advance(9_000);
    use.end();
    await clock.advance(500);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 500 });
  });

  it("is in flight until the limit after the client's last byte, without any call at that time", async () => {
    const { clock, activity, open, load } = openActivity({ autoSuspension: { unansweredLimitSeconds: 10 } });
    const use = open();
    use.asked();
    await clock.advance(6_000);
    use.asked();
    const { epoch, cursor } = activity.answer({});
    await clock.advance(9_999);
    expect(load()).toMatchObject({ sent: 1, idleForMs: 0 });
    expect(activity.answer({ epoch, cursor }).activities).toEqual([]);
    await clock.advance(2_001);
    const reported = activity.answer({ epoch, cursor });
    expect(reported.activities).toMatchObject([{ inFlight: 0, idleForMs: 2_000 }]);
    expect(activity.answer({ epoch, cursor: reported.cursor }).activities).toEqual([]);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 2_000 });
    use.end();
    expect(load()).toMatchObject({ idleForMs: 2_000 });
  });

  it("is not in flight with a limit of 0, and is activity all the same", async () => {
    const { clock, open, load } = openActivity({ autoSuspension: { unansweredLimitSeconds: 0 } });
    open().asked();
    expect(load()).toMatchObject({ sent: 0, idleForMs: 0 });
    await clock.advance(4_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 4_000 });
  });

  it("is not in flight under Ignore, and is once openConnections is Data", async () => {
    const { clock, open, load } = openActivity();
    const use = open();
    use.opened("Ignore");
    use.asked();
    await clock.advance(1_000);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 1_000 });
    use.opened("Data");
    await clock.advance(1_000);
    expect(load()).toMatchObject({ sent: 1, idleForMs: 0 });
    use.opened("Count");
    use.answered();
    expect(load()).toMatchObject({ sent: 1 });
    use.opened("Data");
    expect(load()).toMatchObject({ sent: 0 });
  });

  it("has the current limit of the spec", async () => {
    const { clock, activity, sandbox, open, load } = openActivity();
    open().asked();
    await clock.advance(5_000);
    const { epoch, cursor } = activity.answer({});
    const limited = { ...sandbox, spec: { ...sandbox.spec, autoSuspension: { unansweredLimitSeconds: 2 } } };
    activity.saw(limited);
    expect(load()).toMatchObject({ sent: 0, idleForMs: 0 });
    expect(activity.answer({ epoch, cursor }).activities).toMatchObject([{ inFlight: 0 }]);
  });
});

describe("whether an open connection keeps a sealed Pod", () => {
  const asked = (late: boolean) => {
    const lab = openActivity();
    const { uid } = lab.sandbox.metadata;
    const use = lab.open();
    if (!late) use.asked();
    lab.activity.observed(uid, 2);
    use.asked();
    return { ...lab, use, uid };
  };
  const inGeneration = ({ sandbox }: ReturnType<typeof openActivity>, generation: number) => ({
    ...sandbox,
    metadata: { ...sandbox.metadata, generation },
  });

  it("depends on its work in flight that came before the suspension was observed", () => {
    const { use } = asked(false);
    expect(use.keepsSealedPod).toBe(true);
    use.answered();
    expect(use.keepsSealedPod).toBe(false);
  });

  it("does not depend on data after that, which the controller still counts as in flight", () => {
    const { use, load } = asked(true);
    expect(use.keepsSealedPod).toBe(false);
    expect(load().sent).toBe(1);
    use.closing();
    use.asked();
    expect(load().sent).toBe(0);
  });

  it("depends on all data again once the suspension is over or another is observed", () => {
    const over = asked(true);
    over.activity.saw(inGeneration(over, 2));
    expect(over.use.keepsSealedPod).toBe(false);
    over.activity.saw(inGeneration(over, 3));
    expect(over.use.keepsSealedPod).toBe(true);
    const edited = asked(true);
    const suspended = inGeneration(edited, 3);
    const annotations = { [suspensionCauseAnnotation]: inactivityAt(2) };
    edited.activity.saw({
      ...{ ...suspended, metadata: { ...suspended.metadata, annotations } },
      spec: { ...suspended.spec, operatingMode: "Suspended" },
    });
    expect(edited.use.keepsSealedPod).toBe(false);
    const another = asked(true);
    another.activity.observed(another.uid, 4);
    expect(another.use.keepsSealedPod).toBe(true);
  });
});
