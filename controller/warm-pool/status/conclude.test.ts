import { describe, expect, it } from "vitest";
import type { ObjectMeta } from "../../../api/kinds/meta.ts";
import type { SandboxWarmPoolSpec } from "../../../api/kinds/sandbox-warm-pool.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aMember, aPool, aTemplate } from "../../../test/support/builders/extension-builders.ts";
import { currentBlueprint } from "../../blueprint/current-blueprint.ts";
import type { Census } from "../reconcile-members.ts";
import { conclude, type Ended, statusOf } from "./conclude.ts";

const template = { object: aTemplate(), blueprint: currentBlueprint(aTemplate()) };
const settings = { readinessGraceMs: 300_000, notProgressingRecheckMs: 60_000 };
const ready = aMember({ ready: true });
const pending = aMember();
const { status: _, ...silent } = aMember();

interface Seen extends Partial<Omit<Ended, "census" | "observed">> {
  readonly spec?: Partial<SandboxWarmPoolSpec>;
  readonly metadata?: Partial<ObjectMeta>;
  readonly census?: Partial<Census>;
  readonly templateMissing?: boolean;
}

const none: Census = {
  active: [],
  terminating: 0,
  unsettled: 0,
  replaced: [],
  held: 0,
  batchLeft: 300,
  unfinished: false,
  failures: [],
};

function concluded({ spec, metadata, census, templateMissing = false, ...more }: Seen = {}) {
  const now = new Date(noon);
  const observed = {
    pool: aPool(spec, metadata),
    template: templateMissing ? undefined : template,
    policyGap: undefined,
    now,
  };
  const patience = { failures: 0, graceMs: settings.readinessGraceMs };
  const ended = { resized: { failures: [] }, wasNotProgressing: false, gapMs: 0, patience, settings, ...more };
  return conclude({ ...ended, observed, census: { ...none, ...census } }, () => 1);
}

describe("the status of a pool", () => {
  it.each([
    ["no member", [], 0],
    ["some ready", [ready, pending, ready], 2],
    ["all ready", [ready, ready], 2],
    ["members that say nothing yet", [silent], 0],
  ])("with %s", (_, active, readyReplicas) => {
    const status = statusOf({ pool: aPool() }, { ...none, active });
    expect(status).toMatchObject({ replicas: active.length, readyReplicas });
  });

  it("is of the generation that was acted on, and says how the members are found", () => {
    const pool = aPool({}, { name: "my-warm-pool", generation: 7 });
    expect(statusOf({ pool }, none)).toEqual({
      replicas: 0,
      readyReplicas: 0,
      selector: "agents.x-k8s.io/warm-pool-sandbox=034dafb4",
      observedGeneration: 7,
    });
  });
});

describe("a pool that gets no further", () => {
  const held = { active: [pending, pending], held: 2 };

  it("is reported once, and checked every minute", () => {
    const first = concluded({ spec: { replicas: 3 }, census: held });
    expect(first).toMatchObject({ notProgressing: true, requeueAfterMs: 60_000 });
    expect(first.happening).toMatchObject({
      type: "Warning",
      reason: "WarmPoolNotProgressing",
      action: "Reconciling",
      regarding: { kind: "SandboxWarmPool" },
      note: expect.stringMatching(/^2\/3 sandboxes are unschedulable past the 5m0s readiness grace period; /),
    });
    const next = concluded({ census: held, wasNotProgressing: true });
    expect(next).toMatchObject({ notProgressing: true, requeueAfterMs: 60_000 });
    expect(next).not.toHaveProperty("happening");
  });

  it("is reported once when it progresses again", () => {
    const { happening, notProgressing } = concluded({ census: { active: [ready] }, wasNotProgressing: true });
    expect(notProgressing).toBe(false);
    expect(happening).toMatchObject({
      type: "Normal",
      reason: "WarmPoolProgressing",
      action: "Reconciling",
      note: "Warm pool is progressing again",
    });
    expect(concluded()).not.toHaveProperty("happening");
  });

  it("includes a missing template, which is reported rather than the lack of nodes", () => {
    const { happening, requeueAfterMs } = concluded({ templateMissing: true, census: held });
    expect(happening?.note).toContain('SandboxTemplate "tpl" not found');
    expect(requeueAfterMs).toBe(60_000);
    expect(concluded({ templateMissing: true, wasNotProgressing: true })).not.toHaveProperty("happening");
  });

  it("is none where nothing is wanted", () => {
    const wanted = concluded({ templateMissing: true, spec: { replicas: 0 } });
    expect(wanted).toEqual({ notProgressing: false });
  });

  it.each([
    [10_000, "10s"],
    [500, "500ms"],
    [3_600_000, "1h0m0s"],
    [90_500, "1m30.5s"],
  ])("names the grace of %i ms as %s, and is checked at the configured interval", (readinessGraceMs, words) => {
    const set = { readinessGraceMs, notProgressingRecheckMs: 5_000 };
    const { happening, requeueAfterMs } = concluded({ census: held, settings: set });
    expect(happening?.note).toContain(`past the ${words} readiness`);
    expect(requeueAfterMs).toBe(5_000);
  });
});

describe("a pool is reconciled again", () => {
  it("when a member will be overdue, spread over half as long again", () => {
    expect(concluded({ census: { overdueInMs: 100 } }).requeueAfterMs).toBe(150);
  });

  it("as soon as the first reason says", () => {
    const census = { active: [pending], held: 1, overdueInMs: 100 };
    expect(concluded({ census, resized: { failures: [], requeueAfterMs: 120 } }).requeueAfterMs).toBe(120);
  });

  it("only by its events when there is none", () => {
    expect(concluded()).not.toHaveProperty("requeueAfterMs");
  });
});
