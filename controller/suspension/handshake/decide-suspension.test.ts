import { describe, expect, it } from "vitest";
import type { AutoSuspension, OperatingMode, SuspensionStrategy } from "../../../api/kinds/sandbox.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { formatSeal, inactivityAt, mayHaveNextPod, type SuspensionCause } from "../../../api/rules/suspension.ts";
import { aSandbox, noon } from "../../../test/support/builders/builders.ts";
import type { Reply } from "../activators/activator-replies.ts";
import { usualSilenceLimitMs } from "../activators/silence.ts";
import { decideSuspension, type Round, type Situation } from "./decide-suspension.ts";

const pod = { name: "nova", uid: "pod-1", terminating: false };
const generation = 7;

interface Written {
  readonly mode?: OperatingMode;
  readonly cause?: SuspensionCause;
  readonly sealedFor?: SuspensionCause;
  readonly sealedUid?: string;
  readonly auto?: AutoSuspension;
  readonly strategy?: SuspensionStrategy;
  readonly complete?: boolean;
}

function written({
  mode = "Suspended",
  cause,
  sealedFor,
  sealedUid = "pod-1",
  auto,
  strategy,
  complete,
}: Written = {}) {
  const annotations = {
    ...(cause === "Inactivity" && { [suspensionCauseAnnotation]: inactivityAt(generation) }),
    ...(sealedFor && {
      [sealedPodAnnotation]: formatSeal({ podName: "nova", podUid: sealedUid, cause: sealedFor, at: noon }),
    }),
  };
  const suspended = { type: "Suspended", status: "True", reason: "", message: "", lastTransitionTime: noon } as const;
  const autoSuspension = { inactivityTimeoutSeconds: 300, ...auto };
  return aSandbox(
    { operatingMode: mode, autoSuspension, ...(strategy && { suspensionStrategy: strategy }) },
    { generation, annotations },
    complete ? { conditions: [{ ...suspended, observedGeneration: generation }] } : {},
  );
}

const decide = (sandbox: Written, situation: Partial<Situation> = {}) =>
  decideSuspension({
    sandbox: written(sandbox),
    pod,
    podIsFresh: false,
    podIsFenced: false,
    round: undefined,
    sealedForMs: 0,
    silenceLimitMs: usualSilenceLimitMs,
    now: new Date(noon),
    ...situation,
  });

const answered = (inFlight: number, idleForMs?: number): Reply => ({
  is: "answered",
  inFlight,
  idleForMs,
  superseded: false,
});
const observed = (...replies: readonly Reply[]): Round => ({ asked: "observed", podUid: "pod-1", generation, replies });
const promised = (...replies: readonly Reply[]): Round => ({ asked: "promise", podUid: "pod-1", replies });
/** Silent for so long, while its Pod was Ready; lost, while it was not. */
const silent = (forMs: number): Reply => ({ is: "silent", forMs, lostForMs: 0 });
const lost = (forMs: number): Reply => ({ is: "silent", forMs, lostForMs: forMs });

describe("a sandbox that is to run", () => {
  it("needs no step", () => {
    expect(decide({ mode: "Running" })).toEqual({ do: "nothing" });
  });

  it("has its doomed Pod deleted all the same", () => {
    expect(decide({ mode: "Running", sealedFor: "Inactivity" }).do).toBe("askPromises");
  });

  it("gets its next Pod only after the seal of the former is off", () => {
    expect(mayHaveNextPod(written({ mode: "Running", sealedFor: "Person" }))).toBe(false);
    expect(mayHaveNextPod(written({ mode: "Running" }))).toBe(true);
    expect(mayHaveNextPod(written())).toBe(false);
  });
});

describe("a suspension by a person", () => {
  it("reads the Pod, and seals it at once", () => {
    expect(decide({})).toEqual({ do: "readPod", podName: "nova" });
    expect(decide({}, { podIsFresh: true })).toEqual({ do: "seal", pod, cause: "Person" });
  });

  it("is reported only after a consistent read has found no Pod", () => {
    expect(decide({}, { pod: undefined })).toEqual({ do: "readPod", podName: "nova" });
    expect(decide({}, { pod: undefined, podIsFresh: true })).toEqual({ do: "reportSuspended" });
    expect(decide({ complete: true }, { pod: undefined })).toEqual({ do: "reportSuspended" });
  });

  it("waits for a Pod that another client has deleted", () => {
    expect(decide({}, { pod: { ...pod, terminating: true } })).toMatchObject({ do: "wait", on: "its Pod to end" });
  });
});

describe("a suspension by inactivity", () => {
  const asleep: Written = { cause: "Inactivity" };
  const idle = answered(0, 300_000);

  it("first makes every activator observe it", () => {
    expect(decide(asleep)).toEqual({ do: "askObserved", podUid: "pod-1", generation });
  });

  it("seals the Pod when no activator proxies to it, and none has for long enough", () => {
    expect(decide(asleep, { round: observed(idle, answered(0), { is: "absent" }) }).do).toBe("readPod");
    expect(decide(asleep, { round: observed(idle), podIsFresh: true })).toMatchObject({
      do: "seal",
      cause: "Inactivity",
    });
  });

  it.each([
    { why: "1 in flight", replies: [idle, answered(1)] },
    { why: "it was used meanwhile", replies: [idle, answered(0, 299_999)] },
    { why: "activator not responding", replies: [idle, silent(86_400_000)] },
    { why: "activator not responding", replies: [idle, lost(299_999)] },
    { why: "no activator is there to ask", replies: [] },
    { why: "it was changed meanwhile", replies: [{ ...answered(0), superseded: true }] },
  ] as const)("is cancelled: $why", ({ why, replies }) => {
    expect(decide(asleep, { round: observed(...replies) })).toEqual({ do: "writeRunning", why });
  });

  it("does not wait for an activator that has been lost for five minutes", () => {
    expect(decide(asleep, { round: observed(idle, lost(300_000)), podIsFresh: true }).do).toBe("seal");
  });

  it("does not wait for an activator that is Ready and was silent for longer than the limit that was set", () => {
    const limited = { silenceLimitMs: 600_000, podIsFresh: true };
    expect(decide(asleep, { round: observed(idle, silent(599_999)), ...limited }).do).toBe("writeRunning");
    expect(decide(asleep, { round: observed(idle, silent(600_000)), ...limited }).do).toBe("seal");
  });

  it("is cancelled when its owner keeps it awake, or wants no sleep any more", () => {
    const keepAwakeUntil = "2026-01-01T12:00:01Z";
    expect(decide({ ...asleep, auto: { keepAwakeUntil } }).do).toBe("writeRunning");
    expect(decide({ ...asleep, auto: { keepAwakeUntil: noon } }).do).toBe("askObserved");
    const never = aSandbox({ operatingMode: "Suspended" }, written(asleep).metadata);
    expect(decide({}, { sandbox: never }).do).toBe("writeRunning");
  });

  it.each([
    { about: "another Pod", round: { ...observed(idle), podUid: "pod-0" } },
    { about: "another generation", round: { ...observed(idle), generation: 6 } },
    { about: "a promise", round: promised(idle) },
  ])("takes no answer about $about", ({ round }) => {
    expect(decide(asleep, { round: round as Round }).do).toBe("askObserved");
  });
});

describe("the cause of a suspension by inactivity", () => {
  const annotations = { [suspensionCauseAnnotation]: inactivityAt(generation - 1) };
  const edited = { ...written(), metadata: { ...written().metadata, annotations } };

  it("is renewed after an edit, before anything else is done", () => {
    expect(decide({}, { sandbox: edited })).toEqual({ do: "renewCause" });
    expect(decide({}, { sandbox: edited, pod: undefined })).toEqual({ do: "renewCause" });
  });

  it("is renewed after many edits, once a consistent read has found no Pod", () => {
    const suspended = { type: "Suspended", status: "True", reason: "", message: "", lastTransitionTime: noon } as const;
    const conditions = [{ ...suspended, observedGeneration: generation - 1 }];
    const metadata = { ...edited.metadata, generation: generation + 4 };
    const sandbox = { ...edited, metadata, status: { conditions } };
    expect(decide({}, { sandbox, pod: undefined })).toEqual({ do: "readPod", podName: "nova" });
    expect(decide({}, { sandbox, pod: undefined, podIsFresh: true })).toEqual({ do: "renewCause" });
    expect(decide({}, { sandbox, podIsFresh: true })).toMatchObject({ do: "seal", cause: "Person" });
  });
});

describe("a sealed Pod", () => {
  const byInactivity: Written = { cause: "Inactivity", sealedFor: "Inactivity" };
  const byPerson: Written = { sealedFor: "Person" };
  const deleted = (cut: number, unasked = 0) =>
    ({ do: "deletePod", podName: "nova", podUid: "pod-1", cut, unasked }) as const;

  it("is fenced by every activator, then deleted once nothing is in flight", () => {
    expect(decide(byPerson)).toEqual({ do: "askPromises", podUid: "pod-1" });
    expect(decide(byPerson, { round: observed(answered(0)) }).do).toBe("askPromises");
    expect(decide(byPerson, { round: promised(answered(0), { is: "absent" }) })).toEqual(deleted(0));
  });

  it("waits for requests in flight, and after drainTimeoutSeconds of a manual suspension cuts them", () => {
    const round = promised(answered(2), answered(1));
    expect(decide(byPerson, { round })).toEqual({ do: "wait", on: "3 in flight", recheckAfterMs: 500 });
    expect(decide(byPerson, { round, sealedForMs: 29_900 })).toMatchObject({ do: "wait", recheckAfterMs: 100 });
    expect(decide(byPerson, { round, sealedForMs: 30_000 })).toEqual(deleted(3));
    const patient = { ...byPerson, auto: { drainTimeoutSeconds: 60 } };
    expect(decide(patient, { round, sealedForMs: 30_000 }).do).toBe("wait");
  });

  it("is never deleted under a request when inactivity has doomed it", () => {
    const round = promised(answered(1));
    expect(decide(byInactivity, { round, sealedForMs: 86_400_000 })).toMatchObject({ do: "wait", on: "1 in flight" });
  });

  it("is counted again later, the longer it drains, and soon if a request waits for the next Pod", () => {
    const round = promised(answered(1));
    const at = (sealedForMs: number, written: Written = byInactivity) => decide(written, { round, sealedForMs });
    expect(at(0)).toMatchObject({ recheckAfterMs: 500 });
    expect(at(20_000)).toMatchObject({ recheckAfterMs: 2_000 });
    expect(at(3_600_000)).toMatchObject({ recheckAfterMs: 10_000 });
    expect(at(3_600_000, { ...byInactivity, mode: "Running" })).toMatchObject({ recheckAfterMs: 1_000 });
  });

  it("waits for requests that do not count, but not for longer than drainTimeoutSeconds", () => {
    const ignoring = { ...answered(0), ignored: 2 } as const;
    const round = promised(ignoring, answered(0));
    expect(decide(byInactivity, { round })).toEqual({ do: "wait", on: "2 in flight", recheckAfterMs: 500 });
    expect(decide(byInactivity, { round, sealedForMs: 30_000 })).toEqual(deleted(2));
    const busy = promised(ignoring, answered(1));
    expect(decide(byInactivity, { round: busy, sealedForMs: 30_000 })).toMatchObject({ do: "wait" });
    expect(decide(byPerson, { round: busy, sealedForMs: 30_000 })).toEqual(deleted(3));
  });

  it("is sealed again when a person suspends the sandbox, so that its drain has an end", () => {
    const paused: Written = { sealedFor: "Inactivity" };
    expect(decide(paused, { podIsFresh: true })).toEqual({ do: "seal", pod, cause: "Person" });
  });

  it.each([
    { about: "a silent activator", replies: [silent(299_999)], sealedForMs: 300_000, does: "wait" },
    {
      about: "one that was silent long before the seal",
      replies: [silent(900_000)],
      sealedForMs: 299_999,
      does: "wait",
    },
    { about: "five minutes of silence", replies: [silent(300_000)], sealedForMs: 300_000, does: "deletePod" },
    { about: "one that is not lost for long", replies: [lost(299_999)], sealedForMs: 0, does: "wait" },
    { about: "one that is lost", replies: [lost(300_000)], sealedForMs: 0, does: "deletePod" },
    { about: "an empty list", replies: [], sealedForMs: 299_999, does: "wait" },
    { about: "an empty list for five minutes", replies: [], sealedForMs: 300_000, does: "deletePod" },
  ] as const)("does $does for $about", ({ replies, sealedForMs, does }) => {
    expect(decide(byInactivity, { round: promised(...replies), sealedForMs }).do).toBe(does);
  });

  it("is deleted, naming the activators that may have proxied requests but not the lost ones", () => {
    const replies = [answered(0), silent(300_000), silent(400_000), lost(400_000)];
    expect(decide(byInactivity, { round: promised(...replies), sealedForMs: 300_000 })).toEqual(deleted(0, 2));
    expect(decide(byPerson, { round: promised(...replies), sealedForMs: 30_000 })).toEqual(deleted(0, 2));
  });

  it("is left to end once it was deleted", () => {
    const terminating = { ...pod, terminating: true };
    expect(decide(byPerson, { pod: terminating })).toEqual({
      do: "wait",
      on: "its Pod to end",
      recheckAfterMs: undefined,
    });
  });

  it("loses its seal only after a consistent read has not found it", () => {
    expect(decide(byPerson, { pod: undefined })).toEqual({ do: "readPod", podName: "nova" });
    expect(decide(byPerson, { pod: undefined, podIsFresh: true })).toEqual({ do: "unseal", podUid: "pod-1" });
    const next = { ...pod, uid: "pod-2" };
    expect(decide(byPerson, { pod: next, podIsFresh: true })).toEqual({ do: "unseal", podUid: "pod-1" });
  });
});

describe("a running sandbox whose Pod is fenced and has no seal", () => {
  const running = { mode: "Running" } as const;

  it("has its Pod sealed again, once the Pod was read, with a drain that ends", () => {
    expect(decide(running, { podIsFenced: true })).toEqual({ do: "readPod", podName: "nova" });
    const fresh = { podIsFenced: true, podIsFresh: true };
    expect(decide(running, fresh)).toEqual({ do: "seal", pod, cause: "Person" });
  });

  it("is left alone while that Pod ends", () => {
    const ending = { ...pod, terminating: true };
    expect(decide(running, { podIsFenced: true, podIsFresh: true, pod: ending })).toEqual({ do: "nothing" });
    expect(decide(running, { podIsFenced: false, podIsFresh: true })).toEqual({ do: "nothing" });
  });
});

describe("a suspension of a sandbox whose memory cannot be kept", () => {
  const memoryRefusal = { reason: "NoProvider", message: "the controller runs without --hibernation" } as const;
  const stay = { type: "Hibernate", onFailure: "StayAwake" } as const;
  const fresh = { memoryRefusal, podIsFresh: true, round: observed(answered(0, 300_000)) };

  it("for inactivity is called off before the seal, if the owner asked for that", () => {
    const why = "its memory cannot be kept: the controller runs without --hibernation";
    const called = { do: "writeRunning", why };
    expect(decide({ cause: "Inactivity", strategy: stay }, { memoryRefusal })).toEqual(called);
    expect(decide({ cause: "Inactivity", strategy: stay }, fresh)).toEqual(called);
  });

  it("for inactivity goes on otherwise", () => {
    const strategy = { type: "Hibernate" } as const;
    expect(decide({ cause: "Inactivity", strategy }, fresh)).toMatchObject({ do: "seal", cause: "Inactivity" });
  });

  it("by a person is never refused", () => {
    expect(decide({ strategy: stay }, fresh)).toMatchObject({ do: "seal", cause: "Person" });
  });

  it("goes on after the seal, whatever happens to the provider", () => {
    const sealed = { cause: "Inactivity", sealedFor: "Inactivity", strategy: stay } as const;
    expect(decide(sealed, { memoryRefusal })).toMatchObject({ do: "askPromises" });
    expect(decide(sealed, { memoryRefusal, round: promised(answered(0)) })).toMatchObject({ do: "deletePod" });
  });
});
