import { describe, expect, it } from "vitest";
import type { PodCondition } from "../../api/kinds/pod.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { PodStarts } from "./pod-starts.ts";

const sandbox = aSandbox();
const { uid: sandboxUid } = sandbox.metadata;
/** Twenty seconds after the Pod was made, at 1 000 000 monotonic milliseconds. */
const at = { now: new Date("2026-01-01T12:00:20Z"), nowMs: 1_000_000 };
const later = (ms: number) => ({ now: new Date(at.now.getTime() + ms), nowMs: at.nowMs + ms });
const aheadBy = (ms: number) => ({ now: new Date(at.now.getTime() + ms), nowMs: at.nowMs });

const aPod = (ready?: Omit<PodCondition, "type">, uid = "pod-1") =>
  aPodOf(
    sandbox,
    { uid, creationTimestamp: "2026-01-01T12:00:00Z" },
    { phase: "Running", conditions: ready ? [{ type: "Ready", ...ready }] : [] },
  );
const readySince = (lastTransitionTime: string) => aPod({ status: "True", lastTransitionTime });
const unready = aPod({ status: "False", lastTransitionTime: "2026-01-01T12:00:01Z" });
const ready = readySince("2026-01-01T12:00:15Z");

/** As a former leader has left it that has watched it until now. */
const inherited = aSandbox(
  {},
  {},
  {
    lastActivityTime: "2026-01-01T12:00:10Z",
    nextSuspensionTime: "2026-01-01T12:05:10Z",
  },
);

describe("the start of the idle time", () => {
  it.each([
    { clock: "right", now: at },
    { clock: "an hour ahead", now: aheadBy(3_600_000) },
    { clock: "an hour behind", now: aheadBy(-3_600_000) },
  ])("is when this process sees the Pod, and sees it Ready, while its clock is $clock", ({ now }) => {
    const starts = new PodStarts();
    const seen = { seenMs: now.nowMs, recordedMs: undefined };
    expect(starts.startOf(sandbox, aPod(), now)).toMatchObject({ ...seen, readyMs: undefined });
    expect(starts.startOf(sandbox, unready, { ...now, nowMs: 1_005_000 })).toMatchObject({
      ...seen,
      readyMs: undefined,
    });
    expect(starts.startOf(sandbox, ready, { ...now, nowMs: 1_006_000 })).toMatchObject({ ...seen, readyMs: 1_006_000 });
  });

  it("stays when the Pod is not Ready any more, or Ready again", () => {
    const starts = new PodStarts();
    starts.startOf(sandbox, ready, at);
    for (const pod of [unready, readySince("2026-01-01T12:01:00Z")]) {
      expect(starts.startOf(sandbox, pod, later(60_000))).toMatchObject({ readyMs: at.nowMs });
    }
  });

  it("is another one for another Pod", () => {
    const starts = new PodStarts();
    starts.startOf(sandbox, ready, at);
    const next = starts.startOf(sandbox, aPod(undefined, "pod-2"), later(1_000));
    expect(next).toMatchObject({ seenMs: 1_001_000, readyMs: undefined });
  });

  it("is when an exemption ends, of a Pod that was Ready long before", () => {
    const starts = new PodStarts();
    starts.startOf(sandbox, ready, at);
    starts.exempt(sandboxUid);
    expect(starts.startOf(sandbox, ready, later(60_000))).toMatchObject({ seenMs: 1_060_000, readyMs: 1_060_000 });
  });

  it("stays if the exemption was a suspension for inactivity that was cancelled", () => {
    const starts = new PodStarts();
    starts.startOf(sandbox, ready, at);
    starts.attempted(sandboxUid);
    starts.exempt(sandboxUid);
    starts.startOf(sandbox, ready, later(1_000));
    starts.cancelled(sandboxUid);
    expect(starts.startOf(sandbox, ready, later(2_000))).toMatchObject({ seenMs: at.nowMs, readyMs: at.nowMs });
  });
});

describe("the start of the idle time of a sandbox that a former leader has watched", () => {
  it("is in the written times", () => {
    for (const since of [ready, readySince("2026-01-01T12:00:15,0Z")]) {
      const start = new PodStarts().startOf(inherited, since, at);
      expect(start).toMatchObject({ seenMs: at.nowMs, readyMs: 995_000, recordedMs: 990_000 });
    }
  });

  it("does not move when the clock is set", () => {
    const starts = new PodStarts();
    starts.startOf(inherited, ready, at);
    for (const now of [aheadBy(3_600_000), aheadBy(-3_600_000)])
      expect(starts.startOf(inherited, ready, now)).toMatchObject({ readyMs: 995_000, recordedMs: 990_000 });
  });

  it("is now by the clock of a node that is ahead or says no time, and by a leader's that was ahead", () => {
    const ahead = readySince("2026-01-01T13:00:00Z");
    expect(new PodStarts().startOf(inherited, ahead, at)).toMatchObject({ readyMs: at.nowMs });
    expect(new PodStarts().startOf(inherited, aPod({ status: "True" }), at)).toMatchObject({ readyMs: at.nowMs });
    const { nextSuspensionTime = "" } = inherited.status ?? {};
    const future = { ...inherited, status: { lastActivityTime: "2099-01-01T00:00:00Z", nextSuspensionTime } };
    expect(new PodStarts().startOf(future, ready, at)).toMatchObject({ recordedMs: undefined });
  });

  it("is now if the Pod was not Ready yet, or the sandbox was exempt, when this process first saw it", () => {
    const starting = new PodStarts();
    starting.startOf(inherited, unready, at);
    expect(starting.startOf(inherited, ready, later(5_000))).toMatchObject({ readyMs: 1_005_000 });
    const exempt = new PodStarts();
    exempt.exempt(sandboxUid);
    expect(exempt.startOf(inherited, ready, at)).toMatchObject({ readyMs: at.nowMs, recordedMs: undefined });
  });
});
