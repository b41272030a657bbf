import { describe, expect, it } from "vitest";
import type { SandboxSpec, SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { sealedPodAnnotation } from "../../../api/rules/keys.ts";
import { formatSeal } from "../../../api/rules/suspension.ts";
import { aSandbox, noon } from "../../../test/support/builders/builders.ts";
import { anImage } from "../../../test/support/builders/memory-images.ts";
import type { Capture } from "../hibernation/capture-state.ts";
import { decideSuspension, type Situation } from "./decide-suspension.ts";

const image = anImage();
const pod = { name: "nova", uid: "pod-1", terminating: false };
const due: Capture = { is: "due", image };
const underWay = (leftMs = 3_000): Capture => ({ is: "underWay", image, leftMs });
const over: Capture = { is: "over" };

const quiet = { is: "answered", inFlight: 0, idleForMs: undefined, superseded: false } as const;
const roundOf = (inFlight = 0): Situation["round"] => ({
  asked: "promise",
  podUid: "pod-1",
  replies: [{ ...quiet, inFlight }],
});

const seal = formatSeal({ podName: "nova", podUid: "pod-1", cause: "Person", at: noon });
const sealed = { annotations: { [sealedPodAnnotation]: seal } };

function decide(given: Partial<Situation>, spec: Partial<SandboxSpec> = { operatingMode: "Suspended" }, metadata = {}) {
  return decideSuspension({
    ...{ sandbox: aSandbox(spec, metadata), pod, podIsFresh: true, podIsFenced: false, round: undefined },
    ...{ sealedForMs: 1_000, silenceLimitMs: 1_000, now: new Date(noon), ...given },
  });
}

describe("the capture of a sealed Pod", () => {
  it("comes after the promises, when nothing is in flight, and before the deletion", () => {
    expect(decide({ capture: due }, undefined, sealed)).toMatchObject({ do: "askPromises" });
    expect(decide({ capture: due, round: roundOf(1) }, undefined, sealed)).toMatchObject({ do: "wait" });
    expect(decide({ capture: due, round: roundOf() }, undefined, sealed)).toMatchObject({ do: "capture", image });
    expect(decide({ capture: over }, undefined, sealed)).toMatchObject({ do: "deletePod", podUid: "pod-1", cut: 0 });
    expect(decide({ round: roundOf() }, undefined, sealed)).toMatchObject({ do: "deletePod" });
  });

  it("comes also when the drain has ended, and reports what it cuts", () => {
    const late = { capture: due, round: roundOf(2), sealedForMs: 31_000 };
    expect(decide(late, undefined, sealed)).toMatchObject({ do: "capture", cut: 2 });
  });

  it("is waited for without questions, until its time is over", () => {
    expect(decide({ capture: underWay() }, undefined, sealed)).toMatchObject({ do: "wait", recheckAfterMs: 3_000 });
    expect(decide({ capture: underWay(0) }, undefined, sealed)).toEqual({
      ...{ do: "giveUpCapture", image, why: "AgentSilent" },
    });
  });

  it.each([underWay(), over])("is not called off by a wake: %j", (capture) => {
    const step = decide({ capture }, { operatingMode: "Running" }, sealed);
    expect(["wait", "deletePod"]).toContain(step.do);
  });

  it.each(["Running", "Suspended"] as const)("gets its seal again if that is lost, while it is to be %s", (mode) => {
    expect(decide({ capture: over }, { operatingMode: mode })).toMatchObject({ do: "seal", cause: "Person" });
    expect(decide({ capture: due }, { operatingMode: "Running" })).toEqual({ do: "nothing" });
  });
});

describe("a Pod whose memory is kept", () => {
  const kept = (leftMs = 30_000): Capture => ({ is: "over", kept: { image, leftMs } });
  const hibernates = { suspensionStrategy: { type: "Hibernate" } } as const;
  const step = (capture: Capture, told: SandboxStatus = {}, spec: Partial<SandboxSpec> = hibernates) =>
    decideSuspension({
      ...{ sandbox: aSandbox({ ...spec, operatingMode: "Suspended" }, sealed, told), pod, podIsFresh: true },
      ...{
        podIsFenced: false,
        round: undefined,
        sealedForMs: 1_000,
        silenceLimitMs: 1_000,
        now: new Date(noon),
        capture,
      },
    });

  it("is deleted once the status reports the memory, and not before", () => {
    expect(step(kept())).toMatchObject({ do: "wait", on: "the status to report its memory" });
    expect(step(kept(), { hibernation: { state: "Stopped" } })).toMatchObject({ do: "wait" });
    expect(step(kept(), { hibernation: { state: "Hibernated" } })).toMatchObject({ do: "deletePod" });
  });

  it("is deleted without it if the status cannot tell of it, or the sandbox is not to hibernate now", () => {
    expect(step(kept(0))).toEqual({ do: "giveUpCapture", image, why: "NotRecorded" });
    expect(step(kept(), {}, {})).toMatchObject({ do: "deletePod" });
  });
});

it("without activators a Pod is captured without a seal, and deleted by this handshake once it was", () => {
  const alone = { hasActivators: false };
  expect(decide({ ...alone, capture: due })).toMatchObject({ do: "capture" });
  expect(decide({ ...alone, capture: underWay() })).toMatchObject({ do: "wait" });
  expect(decide({ ...alone, capture: over })).toMatchObject({ do: "deletePod", podUid: "pod-1" });
  expect(decide({ ...alone, capture: { is: "none" } })).toEqual({ do: "nothing" });
});

it.each(["Running", "Suspended"] as const)(
  "without activators nobody is asked about a sealed Pod, and it is captured or deleted at once: %s",
  (operatingMode) => {
    const step = (capture?: Capture) =>
      decide({ hasActivators: false, ...(capture && { capture }) }, { operatingMode }, sealed);
    expect(step()).toEqual({ do: "deletePod", podName: "nova", podUid: "pod-1", cut: 0, unasked: 0 });
    expect(step(due)).toEqual({ do: "capture", image, cut: 0, unasked: 0 });
    expect(step(underWay())).toMatchObject({ do: "wait", recheckAfterMs: 3_000 });
  },
);
