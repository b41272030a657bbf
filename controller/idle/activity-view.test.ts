import { describe, expect, it } from "vitest";
import type { ActivityAnswer } from "../../api/between-programs/drain-protocol.ts";
import { ActivityView, usualVanishGraceMs } from "./activity-view.ts";

const answer = (inFlight: number, idleForMs: number, rest: Partial<ActivityAnswer> = {}): ActivityAnswer => ({
  epoch: "first",
  cursor: 1,
  full: false,
  activities: [{ sandbox: { namespace: "lab", name: "nova", uid: "nova" }, inFlight, idleForMs }],
  ...rest,
});

const activators = (...ids: readonly string[]) => ids.map((id) => ({ id, name: `activator-${id}`, mayServe: true }));
const unready = (id: string) => ({ id, name: `activator-${id}`, mayServe: false });

function viewOf(...replicas: readonly string[]): ActivityView {
  const view = new ActivityView();
  view.listed(activators(...replicas), 0);
  return view;
}

describe("what activators report", () => {
  it("is unknown before each has answered once, or is known not to run", () => {
    const view = viewOf("a", "b");
    expect(view.useOf("nova", 1).busy).toBe("activator not responding");
    view.received("a", answer(0, 3_000), 2);
    expect(view.useOf("nova", 2).busy).toBe("activator not responding");
    view.absent("b", 3);
    expect(view.useOf("nova", 3).busy).toBeUndefined();
  });

  it("is merged: the latest activity counts, and one request in flight anywhere", () => {
    const view = viewOf("a", "b");
    view.received("a", answer(0, 3_000), 10_000);
    view.received("b", answer(0, 1_000), 10_000);
    expect(view.useOf("nova", 10_000)).toMatchObject({ busy: undefined, lastMs: 9_000 });
    view.received("a", answer(1, 0), 11_000);
    expect(view.useOf("nova", 11_000).busy).toBe("1 in flight");
    view.received("a", answer(0, 0), 12_000);
    expect(view.useOf("nova", 12_000)).toMatchObject({ busy: undefined, lastMs: 12_000 });
  });

  it("dates a request in flight by the last answer that did not report its end", () => {
    const view = viewOf("a");
    view.received("a", answer(1, 0), 1_000);
    view.received("a", answer(0, 0, { activities: [] }), 6_000);
    expect(view.useOf("nova", 9_000)).toMatchObject({ busy: "1 in flight", lastMs: 6_000, reportedMs: 6_000 });
  });

  it("is read on from where the last answer ended, and from the start after a restart", () => {
    const view = viewOf("a");
    expect(view.requestFor("a")).toEqual({});
    view.received("a", answer(0, 0, { cursor: 7 }), 0);
    expect(view.requestFor("a")).toEqual({ epoch: "first", cursor: 7 });
    view.absent("a", 1);
    expect(view.requestFor("a")).toEqual({});
  });

  it("drops sandboxes that a full answer no longer lists", () => {
    const view = viewOf("a");
    view.received("a", answer(1, 0), 0);
    view.received("a", answer(0, 0, { full: true, activities: [] }), 1);
    expect(view.useOf("nova", 1)).toMatchObject({ busy: undefined, lastMs: undefined });
  });

  it("reports nothing about an unknown sandbox", () => {
    const view = viewOf("a");
    view.received("a", answer(0, 0), 0);
    expect(view.useOf("other", 0)).toEqual({
      busy: undefined,
      unanswered: undefined,
      lastMs: undefined,
      reportedMs: undefined,
      unsettledUntilMs: Number.NEGATIVE_INFINITY,
    });
  });
});

describe("an activator that does not answer while its Pod is Ready", () => {
  it("keeps everything busy without a limit, and is named", () => {
    const view = viewOf("a", "b");
    view.received("a", answer(0, 0), 0);
    view.received("b", answer(0, 86_400_000), 86_400_000);
    const busy = "activator not responding";
    const unanswered = { by: "activator-a", forMs: 86_400_000 };
    expect(view.useOf("nova", 86_400_000)).toMatchObject({ busy, unanswered });
  });

  it("is not what keeps a sandbox awake that is in use elsewhere", () => {
    const view = viewOf("a", "b");
    view.received("a", answer(0, 0), 0);
    view.received("b", answer(1, 0), 60_000);
    expect(view.useOf("nova", 60_000)).toMatchObject({ busy: "1 in flight", unanswered: undefined });
  });

  it("counts as active until it was last heard once the silence limit that was set is over", () => {
    const view = new ActivityView(0, 600_000);
    view.listed(activators("a"), 0);
    view.received("a", answer(1, 0), 1_000);
    expect(view.useOf("nova", 600_999).busy).toBe("activator not responding");
    expect(view.useOf("nova", 601_000)).toMatchObject({ busy: undefined, lastMs: 1_000 });
  });

  it("is lost only after five minutes in which its Pod was never Ready, and counts as active until then", () => {
    const view = viewOf("a");
    view.received("a", answer(1, 0), 0);
    view.listed([unready("a")], 600_000);
    view.listed(activators("a"), 700_000);
    view.listed([unready("a")], 800_000);
    expect(view.useOf("nova", 1_099_999).busy).toBe("activator not responding");
    expect(view.useOf("nova", 1_100_000)).toMatchObject({ busy: undefined, lastMs: 800_000 });
  });
});

describe("an activator that is lost", () => {
  it("keeps everything busy for five minutes, then counts as active until it was last heard", () => {
    const view = viewOf("a", "b");
    view.listed([unready("a"), ...activators("b")], 0);
    view.received("a", answer(0, 50_000), 0);
    for (let nowMs = 0; nowMs <= 300_000; nowMs += 10_000) view.received("b", answer(0, nowMs), nowMs);
    expect(view.useOf("nova", 15_000).busy).toBeUndefined();
    expect(view.useOf("nova", 15_001).busy).toBe("activator not responding");
    expect(view.useOf("nova", 299_999).busy).toBe("activator not responding");
    expect(view.useOf("nova", 300_000)).toMatchObject({ busy: undefined, lastMs: 0 });
    expect(view.useOf("other", 300_000)).toMatchObject({ busy: undefined, lastMs: 0, reportedMs: undefined });
  });

  it("keeps no sandbox awake for ever by its last requests", () => {
    const view = viewOf("a");
    view.listed([unready("a")], 0);
    view.received("a", answer(3, 0), 1_000);
    expect(view.useOf("nova", 301_000)).toMatchObject({ busy: undefined, lastMs: 1_000 });
  });
});

describe("an activator that is gone", () => {
  it("leaves a grace, and its requests count as in use until then", () => {
    const view = viewOf("a", "b");
    view.received("a", answer(1, 0), 0);
    view.listed(activators("b"), 5_000);
    view.received("b", answer(0, 0, { activities: [] }), 5_000);
    expect(view.useOf("nova", 5_000)).toEqual({
      busy: undefined,
      unanswered: undefined,
      lastMs: 5_000,
      reportedMs: 5_000,
      unsettledUntilMs: 5_000 + usualVanishGraceMs,
    });
  });

  it("leaves the same when it has started again", () => {
    const view = viewOf("a");
    view.received("a", answer(1, 0), 0);
    view.received("a", answer(0, 0, { epoch: "second", full: true, activities: [] }), 5_000);
    expect(view.useOf("nova", 5_000)).toMatchObject({ lastMs: 5_000, unsettledUntilMs: 65_000 });
  });

  it("needs no grace when it is new", () => {
    const view = viewOf("a");
    view.listed(activators("a", "b"), 1_000);
    expect(view.useOf("nova", 1_000).unsettledUntilMs).toBe(Number.NEGATIVE_INFINITY);
  });

  it("leaves everything busy when it was the last", () => {
    expect(viewOf().useOf("nova", 0).busy).toBe("no activator is there to ask");
  });
});
