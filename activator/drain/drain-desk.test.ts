import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/clock.ts";
import { aSandbox } from "../../test/support/builders.ts";
import { Activity } from "../activity/activity.ts";
import { BondBook } from "../activity/bond-book.ts";
import { DrainDesk } from "./drain-desk.ts";

const nova = aSandbox();
const { uid, name, namespace = "" } = nova.metadata;
const sandbox = { uid, name, namespace };

function given({ seen = 1 } = {}) {
  const clock = new FakeClock();
  const activity = new Activity(clock);
  const bonds = new BondBook(() => {});
  const desk = new DrainDesk({ activity, bonds, seenGeneration: () => seen, listening: async () => ({ ports: [] }) });
  const begin = () => {
    const use = activity.useBy({ target: "/", headers: [] });
    use.begin(nova);
    return use;
  };
  return { clock, activity, bonds, desk, begin };
}

describe("an activator that is told of a suspension", () => {
  it("is bound by it until it sees that generation, and counts what it holds, dials and has sent", () => {
    const { desk, begin, bonds } = given();
    begin();
    begin().sentTo("p1");
    expect(desk.observed({ sandbox, podUid: "p1", generation: 2 })).toEqual({ inFlight: 2, idleForMs: 0 });
    expect(bonds.of(uid).toldGeneration).toBe(2);
  });

  it("says for how long the sandbox has been idle, or that it knows of no use", async () => {
    const { desk, begin, clock } = given();
    const question = { sandbox, podUid: "p1", generation: 2 };
    expect(desk.observed(question)).toEqual({ inFlight: 0 });
    const use = begin();
    use.sentTo("p1");
    use.answered();
    use.end();
    await clock.advance(7_000);
    expect(desk.observed(question)).toEqual({ inFlight: 0, idleForMs: 7_000 });
  });

  it("says when that is over already, and is not bound by it", () => {
    const { desk, bonds } = given({ seen: 3 });
    expect(desk.observed({ sandbox, podUid: "p1", generation: 2 })).toEqual({ inFlight: 0, superseded: true });
    expect(bonds.of(uid).toldGeneration).toBe(0);
  });
});

describe("an activator that promises", () => {
  it("forswears the Pod, and counts only what was sent to it: the rest waits for the next one", () => {
    const { desk, begin, bonds } = given();
    begin();
    begin().sentTo("p1");
    begin().sentTo("p0");
    expect(desk.promise({ sandbox, podUid: "p1" })).toEqual({ inFlight: 1 });
    expect([...bonds.of(uid).forsworn]).toEqual(["p1"]);
  });
});
