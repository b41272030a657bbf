import { describe, expect, it } from "vitest";
import type { PodCondition } from "../../../api/kinds/pod.ts";
import { aPodOf, aSandbox } from "../../../test/support/builders/builders.ts";
import { PodStarts } from "./pod-starts.ts";

const sandbox = aSandbox();
/** Twenty seconds after the Pod was made, at 1 000 000 monotonic milliseconds. */
const at = { now: new Date("2026-01-01T12:00:20Z"), nowMs: 1_000_000 };
const later = (ms: number) => ({ now: new Date(at.now.getTime() + ms), nowMs: at.nowMs + ms });
const createdMs = 980_000;

const aPod = (ready?: Omit<PodCondition, "type">, uid = "pod-1") =>
  aPodOf(
    sandbox,
    { uid, creationTimestamp: "2026-01-01T12:00:00Z" },
    { phase: "Running", conditions: ready ? [{ type: "Ready", ...ready }] : [] },
  );
const readySince = (lastTransitionTime: string) => aPod({ status: "True", lastTransitionTime });
const unready = aPod({ status: "False", lastTransitionTime: "2026-01-01T12:00:01Z" });

describe("the start of a Pod", () => {
  it("is when it was made, and when it says that it became Ready", () => {
    const start = new PodStarts().startOf("nova", readySince("2026-01-01T12:00:15Z"), at);
    expect(start).toMatchObject({ createdMs, readyMs: 995_000 });
  });

  it.each([{ pod: aPod() }, { pod: unready }])("has no end while it is not Ready", ({ pod }) => {
    expect(new PodStarts().startOf("nova", pod, at)).toMatchObject({ createdMs, readyMs: undefined });
  });

  it("is known from the first time that it is Ready, whatever becomes of it", () => {
    const starts = new PodStarts();
    starts.startOf("nova", readySince("2026-01-01T12:00:15Z"), at);
    for (const pod of [unready, readySince("2026-01-01T12:01:00Z")]) {
      expect(starts.startOf("nova", pod, later(60_000))).toMatchObject({ readyMs: 995_000 });
    }
  });

  it("does not move when the clock is set back", () => {
    const starts = new PodStarts();
    starts.startOf("nova", readySince("2026-01-01T12:00:15Z"), at);
    const setBack = { now: new Date("2026-01-01T11:00:00Z"), nowMs: 1_001_000 };
    const start = starts.startOf("nova", readySince("2026-01-01T12:00:15Z"), setBack);
    expect(start).toMatchObject({ createdMs, readyMs: 995_000 });
  });

  it("does not end before the Pod was seen not to be Ready, as by the clock of a node that is behind", () => {
    const starts = new PodStarts();
    starts.startOf("nova", unready, at);
    const start = starts.startOf("nova", readySince("2026-01-01T12:00:05Z"), later(3_000));
    expect(start).toMatchObject({ createdMs, readyMs: at.nowMs });
  });

  it("ends by the clock of a node that is ahead, or says no time, when it is seen", () => {
    const ahead = readySince("2026-01-01T13:00:00Z");
    expect(new PodStarts().startOf("nova", ahead, at)).toMatchObject({ readyMs: at.nowMs });
    expect(new PodStarts().startOf("nova", aPod({ status: "True" }), at)).toMatchObject({ readyMs: at.nowMs });
  });

  it("is another one for another Pod", () => {
    const starts = new PodStarts();
    starts.startOf("nova", readySince("2026-01-01T12:00:15Z"), at);
    expect(starts.startOf("nova", aPod(undefined, "pod-2"), at)).toMatchObject({ readyMs: undefined });
  });
});
