import { describe, expect, it } from "vitest";
import type { ObjectMeta, Stored } from "../../api/kinds/meta.ts";
import type { SandboxClaim, SandboxClaimSpec } from "../../api/kinds/sandbox-claim.ts";
import {
  assignedSandboxAnnotation,
  assignedSandboxLabel,
  launchTypeLabel,
  templateRefHashLabel,
} from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controlledBy, noon, someoneElse } from "../../test/support/builders/builders.ts";
import {
  aClaimed,
  aCondition,
  anObservation,
  aSandboxClaim,
  aSpare,
} from "../../test/support/builders/claim-builders.ts";
import { aPool, aTemplate, relabelled, templatePodSpec } from "../../test/support/builders/extension-builders.ts";
import { ClaimProblem } from "./claim-problem.ts";
import { defaultLabelDomains } from "./create/allowed-label-domains.ts";
import { decide, requireTemplate, type Step } from "./decide.ts";
import type { Observed } from "./observed.ts";

const claim = aSandboxClaim();
const bound = aClaimed(claim);
const assignedTo = (name: string, metadata: Partial<ObjectMeta> = {}, status?: SandboxClaim["status"]) =>
  aSandboxClaim({}, { annotations: { [assignedSandboxAnnotation]: name }, ...metadata }, status);
const recorded = (name: string) => ({ sandbox: { name } });
const unlaunched = relabelled(bound, { [launchTypeLabel]: undefined });

/** The step, with a Sandbox as its name; or the obstacle. */
function decided(seen: Observed): object | string {
  try {
    return named(decide(seen, defaultLabelDomains));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return error instanceof ClaimProblem ? `${error.reason}: ${error.message}` : `Error: ${error.message}`;
  }
}

const named = (step: Step) => ("sandbox" in step ? { ...step, sandbox: step.sandbox?.metadata.name } : step);

describe("the sandbox of a claim is the first of these that exists", () => {
  it("the sandbox of its name that it controls", () => {
    expect(decided(anObservation(claim, { sandboxes: [bound] }))).toEqual({
      do: "use",
      byAssignment: false,
      sandbox: "task",
      patch: undefined,
      surplus: [],
    });
  });

  it("the sandbox that its status names, ready or not, also while that is being deleted", () => {
    const warm = aClaimed(claim, { name: "warm-1", deletionTimestamp: noon });
    const seen = anObservation(aSandboxClaim({}, {}, recorded("warm-1")), { sandboxes: [warm, bound] });
    expect(decided(seen)).toMatchObject({ do: "use", sandbox: "warm-1" });
  });

  it("the sandbox that it was given", () => {
    const seen = anObservation(assignedTo("warm-1"), { sandboxes: [aClaimed(claim, { name: "warm-1" }), bound] });
    expect(decided(seen)).toMatchObject({ do: "use", sandbox: "warm-1" });
  });

  it("the sandbox that it was given and that is still the pool's: the adoption is completed", () => {
    expect(decided(anObservation(assignedTo("warm-1"), { sandboxes: [aSpare()] }))).toEqual({
      do: "completeAdoption",
      sandbox: "warm-1",
    });
  });

  it("the sandbox that an older release gave it, by a label", () => {
    const legacy = aSandboxClaim({}, { labels: { [assignedSandboxLabel]: "warm-1" } });
    const taken = { sandboxes: [aClaimed(claim, { name: "warm-1" })] };
    expect(decided(anObservation(legacy, taken))).toMatchObject({ do: "use", sandbox: "warm-1", byAssignment: true });
    const known = aSandboxClaim({}, legacy.metadata, recorded("warm-1"));
    expect(decided(anObservation(known, taken))).toMatchObject({ do: "use", sandbox: "warm-1", byAssignment: false });
    expect(decided(anObservation(legacy, { sandboxes: [aSpare()] }))).toMatchObject({ do: "completeAdoption" });
  });

  it("none: a sandbox is adopted from the pool, or created", () => {
    expect(decided(anObservation(claim))).toEqual({ do: "adoptOrCreate" });
  });

  it.each<[string, Partial<SandboxClaimSpec>]>([
    ["variables", { env: [{ name: "KEY", value: "1" }] }],
    ["volumes", { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] }],
  ])("none, and a sandbox is created, for a claim with %s", (_case, spec) => {
    expect(decided(anObservation(aSandboxClaim(spec)))).toEqual({ do: "create" });
  });
});

describe("a sandbox that a claim names and cannot adopt", () => {
  const others = aSandboxClaim({}, { name: "other" });
  const othersBefore = { ...controlledBy(others), apiVersion: "extensions.agents.x-k8s.io/v1alpha1" };
  const another = aSpare({ pool: aPool({}, { name: "another" }) });
  it.each([
    { case: "is gone", sandboxes: [] },
    { case: "is of another pool", sandboxes: [another] },
    { case: "is another claim's", sandboxes: [aClaimed(others, { name: "warm-1" })] },
    {
      case: "is another claim's, by the older version",
      sandboxes: [aClaimed(others, { name: "warm-1", ownerReferences: [othersBefore] })],
    },
    { case: "is a pool's that is about to delete it", sandboxes: [aSpare({ metadata: { deletionTimestamp: noon } })] },
  ])("because it $case is asked for once more, and then given up", ({ sandboxes }) => {
    const seen = anObservation(assignedTo("warm-1"), { sandboxes });
    expect(decided(seen)).toEqual({ do: "confirm", name: "warm-1" });
    expect(decided({ ...seen, confirmed: new Set(["warm-1"]) })).toEqual({ do: "unassign", name: "warm-1" });
  });

  it("is asked for once more when only the status names it, and then passed over", () => {
    const seen = anObservation(aSandboxClaim({}, {}, recorded("warm-1")));
    expect(decided(seen)).toEqual({ do: "confirm", name: "warm-1" });
    expect(decided({ ...seen, confirmed: new Set(["warm-1"]) })).toEqual({ do: "adoptOrCreate" });
  });

  it("because an unknown owner controls it is skipped, and its assignment stays visible", () => {
    const stray = aSpare({ metadata: { ownerReferences: [someoneElse] } });
    expect(decided(anObservation(assignedTo("warm-1"), { sandboxes: [stray] }))).toEqual({ do: "adoptOrCreate" });
  });

  it("with the claim's name and another owner is an error with its remedy", () => {
    const stranger = aClaimed(claim, { ownerReferences: [someoneElse] });
    expect(decided(anObservation(claim, { sandboxes: [stranger] }))).toBe(
      "Error: Sandbox task exists and is controlled by ReplicaSet other (uid uid-of-other); " +
        "use another claim name or delete the Sandbox",
    );
  });
});

describe("the launch type of a sandbox without the label", () => {
  const launched = (seenClaim: Stored<SandboxClaim>, name: string) => {
    const sandbox = aClaimed(claim, { name, labels: unlaunched });
    return decided(anObservation(seenClaim, { sandboxes: [sandbox] }));
  };
  const says = (type: string) => ({ patch: { metadata: { labels: { [launchTypeLabel]: type } } } });

  it("cold, when it has the claim's name and was not given to it", () => {
    expect(launched(claim, "task")).toMatchObject(says("cold"));
    expect(launched(aSandboxClaim({}, {}, recorded("task")), "task")).toMatchObject(says("cold"));
  });

  it("warm, when it has another name or was given to it", () => {
    expect(launched(aSandboxClaim({}, {}, recorded("warm-1")), "warm-1")).toMatchObject(says("warm"));
    expect(launched(assignedTo("task", {}, recorded("task")), "task")).toMatchObject(says("warm"));
    expect(launched(assignedTo("warm-1"), "warm-1")).toMatchObject(says("warm"));
  });
});

describe("a template or pool that is missing", () => {
  const additionalPodMetadata = { annotations: { note: "1" } };

  it("does not matter to a bound claim", () => {
    const seen = anObservation(claim, { sandboxes: [bound], pool: undefined, template: undefined });
    expect(decided(seen)).toMatchObject({ do: "use", patch: undefined });
  });

  it.each([{}, { labels: {}, annotations: {} }])(
    "does not matter to a bound claim that asks for no metadata in so many words: %j",
    (nothing) => {
      const asking = aSandboxClaim({ additionalPodMetadata: nothing });
      const seen = anObservation(asking, { sandboxes: [aClaimed(asking)], pool: undefined, template: undefined });
      expect(decided(seen)).toMatchObject({ do: "use", patch: undefined });
    },
  );

  it("matters to a bound claim that asks for metadata", () => {
    const asking = aSandboxClaim({ additionalPodMetadata });
    const seen = anObservation(asking, { sandboxes: [aClaimed(asking)], template: undefined });
    expect(decided(seen)).toBe('TemplateNotFound: SandboxTemplate "tpl" not found');
    expect(decided({ ...seen, pool: undefined })).toBe('WarmPoolNotFound: SandboxWarmPool "warm" not found');
  });

  it("is named where a sandbox is to be made", () => {
    expect(() => requireTemplate(anObservation(claim, { template: undefined }))).toThrow(
      'SandboxTemplate "tpl" not found',
    );
    expect(() => requireTemplate(anObservation(claim, { pool: undefined }))).toThrow(
      'SandboxWarmPool "warm" not found',
    );
  });
});

describe("the template of a bound sandbox", () => {
  const other = aTemplate(
    { podTemplate: { metadata: { labels: { tier: "gold" } }, spec: templatePodSpec } },
    { name: "other" },
  );
  const own = aTemplate();
  const templateNamed = (name: string) => [own, other].find(({ metadata }) => metadata.name === name);

  it("is the template that it was created from, also when its pool names another now", () => {
    const seen = anObservation(claim, { sandboxes: [bound], template: other, templateNamed });
    expect(decided(seen)).toMatchObject({ do: "use", patch: undefined });
  });

  it("is not replaced by that of its pool when it is gone", () => {
    const gone = anObservation(claim, { sandboxes: [bound], template: other, templateNamed: () => undefined });
    expect(decided(gone)).toMatchObject({ do: "use", patch: undefined });
    const asking = aSandboxClaim({ additionalPodMetadata: { annotations: { note: "1" } } });
    const asked = { sandboxes: [aClaimed(asking)], template: other, templateNamed: () => undefined };
    expect(decided(anObservation(asking, asked))).toBe('TemplateNotFound: SandboxTemplate "tpl" not found');
  });

  it("is that of its pool where the sandbox does not record one", () => {
    const unrecorded = aClaimed(claim, { annotations: {} });
    const seen = anObservation(claim, { sandboxes: [unrecorded], template: other, templateNamed });
    expect(decided(seen)).toMatchObject({
      patch: { metadata: { labels: { [templateRefHashLabel]: nameHash("other") } } },
    });
  });
});

describe("metadata that the template contradicts", () => {
  it("is refused before a sandbox is taken for the claim", () => {
    const podTemplate = { metadata: { annotations: { note: "template" } }, spec: templatePodSpec };
    const contrary = aSandboxClaim({ additionalPodMetadata: { annotations: { note: "claim" } } });
    expect(decided(anObservation(contrary, { template: aTemplate({ podTemplate }) }))).toContain(
      "may not be overridden",
    );
  });
});

describe("bad metadata", () => {
  it("is refused before anything else is done, also for a bound claim", () => {
    const bad = aSandboxClaim({ additionalPodMetadata: { labels: { team: "red" } } });
    expect(decided(anObservation(bad, { sandboxes: [aClaimed(bad)] }))).toMatch(/^InvalidMetadata: /);
  });
});

describe("more than one sandbox of one claim", () => {
  const first = aClaimed(claim, { name: "warm-1", uid: "uid-1" });
  const second = aClaimed(claim, { name: "task", uid: "uid-2" });
  const own = [first, second];

  it("keeps the sandbox in the status, once that was confirmed; the others are deleted", () => {
    const seen = anObservation(aSandboxClaim({}, {}, recorded("task")), { sandboxes: own, own });
    expect(decided(seen)).toEqual({ do: "confirm", name: "task" });
    const confirmed = new Set(["task"]);
    expect(decided({ ...seen, confirmed })).toMatchObject({ do: "use", sandbox: "task", surplus: [first] });
  });

  it("leaves no assignment of another than the status names", () => {
    const seen = anObservation(assignedTo("warm-1", {}, recorded("task")), { sandboxes: [second] });
    expect(decided(seen)).toEqual({ do: "confirm", name: "task" });
    expect(decided({ ...seen, confirmed: new Set(["task"]) })).toEqual({ do: "unassign", name: "warm-1" });
  });

  it("stays until the status names one", () => {
    const seen = anObservation(assignedTo("warm-1"), { sandboxes: own, own });
    expect(decided(seen)).toMatchObject({ do: "use", sandbox: "warm-1", surplus: [] });
  });

  it("stays while the sandbox in the status is being deleted", () => {
    const going = { ...second, metadata: { ...second.metadata, deletionTimestamp: noon } };
    const seen = anObservation(aSandboxClaim({}, {}, recorded("task")), {
      sandboxes: [first, going],
      own: [first, going],
    });
    expect(decided(seen)).toMatchObject({ do: "use", sandbox: "task", surplus: [] });
  });
});

describe("an expired claim", () => {
  const marked = (sandbox?: { name: string }) => ({
    conditions: [aCondition({ type: "Ready", reason: "ClaimExpired" })],
    ...(sandbox && { sandbox }),
  });
  const expired = (lifecycle: SandboxClaimSpec["lifecycle"], status?: SandboxClaim["status"]) =>
    aSandboxClaim({ lifecycle: { shutdownTime: noon, ...lifecycle } }, {}, status);

  it.each(["Retain", "Delete", "DeleteForeground"] as const)("is marked before %s is done", (shutdownPolicy) => {
    expect(decided(anObservation(expired({ shutdownPolicy }), { sandboxes: [bound] }))).toEqual({ do: "markExpired" });
  });

  it("loses its sandbox under Retain", () => {
    expect(decided(anObservation(expired({}, marked()), { sandboxes: [bound] }))).toEqual({
      do: "tearDown",
      sandbox: "task",
      toDelete: [bound],
    });
  });

  it("loses the sandbox from a pool that its status names, and all others of its own", () => {
    const warm = aClaimed(claim, { name: "warm-1" });
    const seen = anObservation(expired({}, marked({ name: "warm-1" })), { sandboxes: [warm, bound], own: [bound] });
    expect(decided(seen)).toMatchObject({ sandbox: "warm-1", toDelete: [bound, warm] });
  });

  it("leaves a sandbox that it does not control, and reports this", () => {
    const stranger = aClaimed(claim, { ownerReferences: [someoneElse] });
    expect(decided(anObservation(expired({}, marked()), { sandboxes: [stranger] }))).toBe(
      "ClaimExpired: Claim expired. Sandbox task is not controlled by this claim; its deletion was skipped.",
    );
  });

  it("is complete once its sandbox terminates, or is gone", () => {
    const going = aClaimed(claim, { deletionTimestamp: noon });
    expect(decided(anObservation(expired({}, marked()), { sandboxes: [going] }))).toMatchObject({ toDelete: [] });
    expect(decided(anObservation(expired({}, marked())))).toEqual({ do: "tearDown", sandbox: undefined, toDelete: [] });
  });

  it.each([
    ["Delete", false],
    ["DeleteForeground", true],
  ] as const)("goes under %s", (shutdownPolicy, foreground) => {
    expect(decided(anObservation(expired({ shutdownPolicy }, marked())))).toEqual({ do: "deleteClaim", foreground });
  });
});
