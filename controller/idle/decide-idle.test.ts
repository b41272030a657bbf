import { describe, expect, it } from "vitest";
import type { ObjectMeta } from "../../api/kinds/meta.ts";
import type { SandboxSpec } from "../../api/kinds/sandbox.ts";
import { sealedPodAnnotation, warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { formatSeal } from "../../api/rules/suspension.ts";
import { aSandbox, noon } from "../../test/support/builders/builders.ts";
import type { Use } from "./activity-view.ts";
import { type IdleQuestion, idlenessOf } from "./decide-idle.ts";
import type { PodStart } from "./pod-starts.ts";

const autoSuspension = { inactivityTimeoutSeconds: 300 };
const unused: Use = {
  busy: undefined,
  unanswered: undefined,
  lastMs: undefined,
  reportedMs: undefined,
  unsettledUntilMs: Number.NEGATIVE_INFINITY,
};

const startAt = (seenMs: number, readyMs: number | undefined, recordedMs?: number): PodStart => ({
  ...{ seenMs, readyMs, isInherited: recordedMs !== undefined, recordedMs },
});

const ask = (question: Partial<IdleQuestion> & { readonly auto?: SandboxSpec["autoSuspension"] } = {}) =>
  idlenessOf({
    sandbox: aSandbox({ autoSuspension: { ...autoSuspension, ...question.auto } }),
    use: unused,
    podStart: startAt(0, 0),
    notBeforeMs: Number.NEGATIVE_INFINITY,
    now: new Date(noon),
    nowMs: 300_000,
    ...question,
  });

describe("an unused sandbox", () => {
  it("is idle when inactivityTimeoutSeconds are over, and not a millisecond before", () => {
    expect(ask({ nowMs: 299_999 })).toMatchObject({ is: "awake", why: "it was used", recheckAtMs: 300_000 });
    expect(ask({ nowMs: 300_000 })).toEqual({ is: "idle", forMs: 300_000, lastMs: 0 });
  });

  it("counts from its last activity, or from when its Pod was first Ready", () => {
    expect(ask({ use: { ...unused, lastMs: 1 } })).toMatchObject({ is: "awake", recheckAtMs: 300_001 });
    const podStart = startAt(1, 5);
    expect(ask({ podStart })).toMatchObject({ is: "awake", why: "it was used", recheckAtMs: 300_005 });
    expect(ask({ use: { ...unused, lastMs: 4 }, podStart })).toMatchObject({ recheckAtMs: 300_005 });
  });
});

describe("a sandbox with a list for keepAwakeUntil, which API servers accept", () => {
  it("is idle as without it, however deep the list is nested", () => {
    const keepAwakeUntil = JSON.parse(`${"[".repeat(9_900)}${"]".repeat(9_900)}`);
    expect(ask({ auto: { ...autoSuspension, keepAwakeUntil } })).toEqual(ask());
    expect(ask({ auto: { ...autoSuspension, keepAwakeUntil }, nowMs: 1_000 })).toEqual(ask({ nowMs: 1_000 }));
  });
});

describe("a sandbox whose use no activator knows any more", () => {
  it("counts from the last activity that the former leader wrote", () => {
    const podStart = startAt(0, 0, 240_000);
    expect(ask({ podStart })).toMatchObject({ is: "awake", why: "it was used", lastMs: 240_000, recheckAtMs: 540_000 });
    expect(ask({ podStart, use: { ...unused, lastMs: 1 } })).toMatchObject({ lastMs: 1 });
    expect(ask({ podStart: startAt(0, 250_000, 240_000) })).toMatchObject({ lastMs: 250_000 });
  });
});

describe("a sandbox behind an activator that does not answer", () => {
  const unanswered = { by: "activator-1", forMs: 60_000 };
  const use = { ...unused, busy: "activator not responding", unanswered };

  it("is not said to be used, nor to be suspended later, for that reason", () => {
    expect(ask({ use, nowMs: 200_000 })).toMatchObject({ is: "awake", lastMs: 0, sleepsAtMs: 300_000 });
    expect(ask({ use, nowMs: 400_000 })).toMatchObject({ is: "awake", lastMs: 0, sleepsAtMs: 400_000 });
  });

  it("is held up once it would sleep for all that is known, and not before", () => {
    expect(ask({ use, nowMs: 299_999 })).not.toHaveProperty("blockedBy");
    expect(ask({ use })).toMatchObject({ is: "awake", blockedBy: unanswered });
    expect(ask({ use, auto: { keepAwakeUntil: "2026-01-02T00:00:00Z" } })).not.toHaveProperty("blockedBy");
  });
});

describe("a sandbox whose suspension was rejected", () => {
  const rejection = { message: "full", untilMs: 310_000 };

  it("stays awake until the next attempt, and says so while nothing else keeps it awake", () => {
    const rejected = { is: "awake", rejected: "full", recheckAtMs: 310_000, sleepsAtMs: 310_000 };
    expect(ask({ rejection, nowMs: 305_000 })).toMatchObject(rejected);
    expect(ask({ rejection, nowMs: 310_000 })).toMatchObject({ is: "idle", rejected: "full" });
    expect(ask({ rejection, nowMs: 200_000 })).not.toHaveProperty("rejected");
    expect(ask({ rejection, use: { ...unused, busy: "1 in flight" } })).not.toHaveProperty("rejected");
  });
});

describe("a sandbox stays awake", () => {
  it("while it is in use", () => {
    const use = { ...unused, busy: "1 in flight", lastMs: 299_000 };
    expect(ask({ use })).toEqual({
      is: "awake",
      why: "1 in flight",
      recheckAtMs: 315_000,
      sleepsAtMs: 599_000,
      lastMs: 299_000,
    });
  });

  it("until keepAwakeUntil, which the next suspension also says while it is in use", () => {
    const use = { ...unused, busy: "1 in flight", lastMs: 299_000 };
    const auto = { keepAwakeUntil: "2026-01-01T13:00:00Z" };
    expect(ask({ use, auto })).toMatchObject({ sleepsAtMs: 300_000 + 3_600_000, lastMs: 299_000 });
  });

  it.each([
    {
      why: "it is kept awake until 2026-01-01T12:00:10Z",
      question: { auto: { keepAwakeUntil: "2026-01-01T12:00:10Z" } },
    },
    { why: "an activator has vanished", question: { use: { ...unused, unsettledUntilMs: 310_000 } } },
    { why: "it is not its turn", question: { notBeforeMs: 310_000 } },
  ])("because $why", ({ why, question }) => {
    expect(ask(question)).toMatchObject({ is: "awake", why, recheckAtMs: 310_000 });
  });

  it("no longer than keepAwakeUntil", () => {
    expect(ask({ auto: { keepAwakeUntil: noon } }).is).toBe("idle");
  });
});

describe("a sandbox whose Pod has not been Ready", () => {
  const starting = (inactivityTimeoutSeconds: number, nowMs: number, timeoutSeconds?: number) =>
    ask({
      sandbox: aSandbox({
        autoSuspension: { inactivityTimeoutSeconds },
        ...(timeoutSeconds !== undefined && { autoResume: { timeoutSeconds } }),
      }),
      podStart: startAt(0, undefined),
      nowMs,
    });

  it("is not idle for as long as a connection would wait for it", () => {
    const why = "its Pod is starting";
    expect(starting(10, 119_999)).toMatchObject({ is: "awake", why, recheckAtMs: 120_000, sleepsAtMs: 120_000 });
    expect(starting(10, 39_999, 40)).toMatchObject({ is: "awake", why, recheckAtMs: 40_000 });
  });

  it("is idle after that, for it may never be Ready", () => {
    expect(starting(10, 120_000)).toEqual({ is: "idle", forMs: 120_000, lastMs: 0 });
    expect(starting(10, 40_000, 40)).toMatchObject({ is: "idle" });
  });

  it("is idle no sooner than when it is Ready and unused", () => {
    expect(starting(300, 299_999, 40)).toMatchObject({ is: "awake", recheckAtMs: 300_000 });
    expect(starting(300, 300_000, 40)).toMatchObject({ is: "idle" });
  });
});

describe("exempt from sleeping by itself", () => {
  const seal = formatSeal({ podName: "nova", podUid: "pod-1", cause: "Person", at: noon });
  const cases: readonly {
    readonly why: string;
    readonly spec?: Partial<SandboxSpec>;
    readonly metadata?: Partial<ObjectMeta>;
    readonly ended?: true;
  }[] = [
    { why: "it never sleeps by itself", spec: { autoSuspension: { drainTimeoutSeconds: 1 } } },
    { why: "it is being deleted", metadata: { deletionTimestamp: noon } },
    { why: "it is suspended", spec: { operatingMode: "Suspended" } },
    { why: "its former Pod is not gone yet", metadata: { annotations: { [sealedPodAnnotation]: seal } } },
    { why: "it is a member of a pool", metadata: { labels: { [warmPoolSandboxLabel]: "1234" } } },
    { why: "it has expired", spec: { shutdownTime: noon } },
    { why: "its Pod has ended", ended: true },
  ];

  it.each(cases)("because $why", ({ why, spec, metadata, ended }) => {
    const finished = { type: "Finished", status: "True", reason: "", message: "", lastTransitionTime: noon } as const;
    const status = ended && { conditions: [finished] };
    expect(ask({ sandbox: aSandbox({ autoSuspension, ...spec }, metadata, status) })).toEqual({ is: "exempt", why });
  });
});

it("never puts a sandbox back to sleep that was woken and has no Pod yet", () => {
  expect(ask({ podStart: undefined })).toEqual({ is: "exempt", why: "it has no Pod yet" });
});

describe("a sandbox that would rather stay awake than lose its memory", () => {
  const refusal = { reason: "NoProvider", message: "the controller runs without --hibernation" } as const;
  const sandbox = aSandbox({ autoSuspension, suspensionStrategy: { type: "Hibernate", onFailure: "StayAwake" } });

  it("is never idle while its memory cannot be kept, and says so from its start on", () => {
    const kept = { is: "awake", memoryRefusal: refusal };
    expect(ask({ sandbox, memoryRefusal: refusal, nowMs: 0 })).toMatchObject({ ...kept, why: "it was used" });
    const why = "its memory cannot be kept";
    expect(ask({ sandbox, memoryRefusal: refusal })).toMatchObject({
      ...kept,
      why,
      recheckAtMs: 315_000,
      sleepsAtMs: 300_000,
    });
    const use = { ...unused, busy: "it is in use" };
    expect(ask({ sandbox, memoryRefusal: refusal, use })).toMatchObject(kept);
  });

  it("is idle like any other once its memory can be kept", () => {
    expect(ask({ sandbox })).toEqual({ is: "idle", forMs: 300_000, lastMs: 0 });
  });

  it("is exempt while it is suspended, whatever becomes of its memory", () => {
    const suspended = { ...sandbox, spec: { ...sandbox.spec, operatingMode: "Suspended" as const } };
    expect(ask({ sandbox: suspended, memoryRefusal: refusal })).toMatchObject({ is: "exempt" });
  });

  it("is idle if its owner takes the loss of memory instead", () => {
    const stops = aSandbox({ autoSuspension, suspensionStrategy: { type: "Hibernate" } });
    expect(ask({ sandbox: stops, memoryRefusal: refusal })).toEqual({ is: "idle", forMs: 300_000, lastMs: 0 });
  });
});
