import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { Activity } from "../activity/activity.ts";
import { PodFences } from "../activity/pod-fences.ts";
import { DrainHandlers } from "./drain-handlers.ts";

const nova = aSandbox();
const { uid, name, namespace = "" } = nova.metadata;
const sandbox = { uid, name, namespace };

function given({ seen = 1 } = {}) {
  const clock = new FakeClock();
  const activity = new Activity(clock);
  const fences = new PodFences({ onFenced: () => {}, hasPod: () => false });
  const listening = async () => ({ ports: [] });
  const busy = async () => ({ asked: false, reason: "NotSeen" }) as const;
  const handlers = new DrainHandlers({
    activity,
    fences,
    closeOpen: () => {},
    settle: () => {},
    seenGeneration: () => seen,
    listening,
    busy,
  });
  const begin = () => {
    const use = activity.useBy({ target: "/", headers: [] });
    use.begin(nova);
    return use;
  };
  return { clock, activity, fences, handlers, begin };
}

describe("an activator that gets a reported suspension", () => {
  it("obeys it until it sees that generation, and counts held, dialled and sent requests", () => {
    const { handlers, begin, fences } = given();
    begin();
    const sent = begin();
    sent.sentTo("p1");
    sent.dispatched();
    expect(handlers.observed({ sandbox, podUid: "p1", generation: 2 })).toEqual({ inFlight: 2, idleForMs: 0 });
    expect(fences.of(uid).reportedGeneration).toBe(2);
  });

  it("reports how long the sandbox was idle, or that it was never used", async () => {
    const { handlers, begin, clock } = given();
    const question = { sandbox, podUid: "p1", generation: 2 };
    expect(handlers.observed(question)).toEqual({ inFlight: 0 });
    const use = begin();
    use.sentTo("p1");
    use.dispatched();
    use.end();
    await clock.advance(7_000);
    expect(handlers.observed(question)).toEqual({ inFlight: 0, idleForMs: 7_000 });
  });

  it("reports that it is over already, and does not obey it", () => {
    const { handlers, fences } = given({ seen: 3 });
    expect(handlers.observed({ sandbox, podUid: "p1", generation: 2 })).toEqual({ inFlight: 0, superseded: true });
    expect(fences.of(uid).reportedGeneration).toBe(0);
  });

  it("keeps the Pod for data that comes after a suspension that was over when it was reported", () => {
    const { handlers, begin } = given({ seen: 3 });
    const use = begin();
    use.sentTo("p1");
    use.opened("Data");
    handlers.observed({ sandbox, podUid: "p1", generation: 2 });
    use.asked();
    expect(use.keepsSealedPod).toBe(true);
  });
});

describe("a promise of the activator", () => {
  it("fences the Pod, and counts sent requests alone: held ones wait for the next Pod", () => {
    const { handlers, begin, fences } = given();
    begin();
    begin().sentTo("p1");
    begin().sentTo("p0");
    expect(handlers.promise({ sandbox, podUid: "p1" })).toEqual({ inFlight: 1 });
    expect([...fences.of(uid).fenced]).toEqual(["p1"]);
  });
});
