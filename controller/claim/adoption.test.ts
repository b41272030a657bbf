import { describe, expect, it, vi } from "vitest";
import { controllerOf } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { assignedSandboxAnnotation, assignedSandboxLabel } from "../../api/rules/keys.ts";
import { ApiError, ApiUnreachable } from "../../kube/client/errors.ts";
import { controlledBy } from "../../test/support/builders/builders.ts";
import type { Intercept, InterceptedCall } from "../../test/support/fakes/intercepted-client.ts";
import { type ClaimLab, type LabClaims, openClaimLab } from "../../test/support/labs/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const patchBody = ({ body }: InterceptedCall) =>
  body as { readonly metadata?: { readonly annotations?: object; readonly ownerReferences?: object } };
const assigns = (call: InterceptedCall) =>
  call.verb === "patch" &&
  call.kind === "SandboxClaim" &&
  typeof Reflect.get(patchBody(call).metadata?.annotations ?? {}, assignedSandboxAnnotation) === "string";
const adopts = (call: InterceptedCall) =>
  call.verb === "patch" && call.kind === "Sandbox" && patchBody(call).metadata?.ownerReferences !== undefined;
const takesBack = (call: InterceptedCall) =>
  call.verb === "patch" &&
  call.kind === "SandboxClaim" &&
  Reflect.get(patchBody(call).metadata?.annotations ?? {}, assignedSandboxAnnotation) === null;

const conflict = () => new ApiError(409, { apiVersion: "v1", kind: "Status", reason: "Conflict", message: "changed" });

/** Does something before the first so many calls of a kind go out. */
function beforeThe(
  isMeant: (call: InterceptedCall) => boolean,
  act: (call: InterceptedCall) => unknown,
  times = 1,
): Intercept {
  let left = times;
  return async (call, proceed) => {
    if (isMeant(call) && left-- > 0) await act(call);
    return proceed();
  };
}

/** A lab with a pool of so many warm sandboxes, `warm-1` and so on, and no running controller yet. */
async function openWarmLab(count = 1): Promise<ClaimLab> {
  const lab = await openClaimLab({ kubelet: false });
  await lab.template();
  await lab.pool(count);
  for (let at = 1; at <= count; at += 1) await lab.spare(`warm-${at}`);
  return lab;
}

const ownerOf = async (lab: ClaimLab, sandbox: string) => {
  const found = await lab.get(sandboxType, sandbox);
  const owner = found && controllerOf(found);
  return owner && `${owner.kind} ${owner.name}`;
};
const assignmentOf = async (lab: ClaimLab, claim: string) =>
  (await lab.get(sandboxClaimType, claim))?.metadata.annotations?.[assignedSandboxAnnotation];
const annotate = (lab: ClaimLab, type: ResourceType<Sandbox | SandboxClaim>, name: string) =>
  lab.patch(type, name, { metadata: { annotations: { "example.org/note": `${Math.random()}` } } });
/** Gives `warm-1` to a claim that no controller reconciles. */
async function giveAway(lab: ClaimLab): Promise<void> {
  const other = await lab.claim("other", { warmPoolRef: { name: "elsewhere" } });
  await lab.patch(sandboxType, "warm-1", { metadata: { ownerReferences: [controlledBy(other)] } });
}
/** The reasons that were written as those of a claim's Ready, and the steps of its adoption in between. */
const story = ({ calls }: LabClaims, claim = "task") =>
  calls.flatMap((call) => {
    if (assigns(call) && call.name === claim) return ["assign"];
    if (takesBack(call) && call.name === claim) return ["take back"];
    if (adopts(call)) return [`adopt ${call.name}`];
    return call.subresource === "status" && call.name === claim ? [reasonIn(call)] : [];
  });
const reasonIn = ({ body }: InterceptedCall) =>
  findCondition((body as SandboxClaim).status?.conditions, "Ready")?.reason;
const writesOf = ({ calls }: LabClaims) =>
  calls.filter(({ verb }) => verb !== "get").map(({ verb, kind, name }) => `${verb} ${kind} ${name}`);

describe("a claim that is assigned a sandbox", () => {
  it("is assigned the same sandbox when another client changes the claim at that moment", async () => {
    await using lab = await openWarmLab(2);
    const intercept = beforeThe(assigns, () => annotate(lab, sandboxClaimType, "task"), 3);
    await using _claims = await lab.startClaims({ intercept });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-1");
    expect(await ownerOf(lab, "warm-2")).toBe("SandboxWarmPool pool");
  });

  it("and that was recreated meanwhile loses nothing: the new claim gets the sandbox", async () => {
    await using lab = await openWarmLab();
    const replace = async () => {
      await lab.client.delete(sandboxClaimType, { namespace: "default", name: "task" });
      await lab.claim("task");
    };
    await using _claims = await lab.startClaims({ intercept: beforeThe(assigns, replace) });
    const first = await lab.claim("task");
    const claim = await lab.untilReady("task");
    expect(claim.metadata.uid).not.toBe(first.metadata.uid);
    expect(claim.status?.sandbox?.name).toBe("warm-1");
  });

  it("by another controller keeps that sandbox, and ours stays in the pool", async () => {
    await using lab = await openWarmLab(2);
    const assign = () =>
      lab.patch(sandboxClaimType, "task", { metadata: { annotations: { [assignedSandboxAnnotation]: "warm-2" } } });
    await using _claims = await lab.startClaims({ intercept: beforeThe(assigns, assign) });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-2");
    expect(await ownerOf(lab, "warm-1")).toBe("SandboxWarmPool pool");
    await lab.claim("next");
    expect((await lab.untilReady("next")).status?.sandbox?.name).toBe("warm-1");
  });
});

describe("a sandbox that changes hands", () => {
  it("and was ours already is ours", async () => {
    await using lab = await openWarmLab();
    // The response to the first write is lost, but the write succeeded.
    const lose: Intercept = async (call, proceed) => {
      if (!adopts(call)) return proceed();
      await proceed();
      throw conflict();
    };
    await using _claims = await lab.startClaims({ intercept: lose });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-1");
    expect(await ownerOf(lab, "warm-1")).toBe("SandboxClaim task");
  });

  it("and was changed meanwhile is asked for again, the same one", async () => {
    await using lab = await openWarmLab(2);
    const intercept = beforeThe(adopts, () => annotate(lab, sandboxType, "warm-1"), 2);
    await using claims = await lab.startClaims({ intercept });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-1");
    expect(claims.calls.filter(adopts).map(({ name }) => name)).toEqual(["warm-1", "warm-1", "warm-1"]);
  });

  it("and went to another claim is given up before another one is taken, in another pass", async () => {
    await using lab = await openWarmLab(2);
    await using claims = await lab.startClaims({ intercept: beforeThe(adopts, () => giveAway(lab)) });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-2");
    expect(await ownerOf(lab, "warm-1")).toBe("SandboxClaim other");
    expect(story(claims)).toEqual([
      "assign",
      "adopt warm-1",
      "take back",
      "AdoptionConflict",
      "assign",
      "adopt warm-2",
      "DependenciesReady",
    ]);
  });

  it("and is gone meanwhile is given up", async () => {
    await using lab = await openWarmLab(2);
    const remove = () => lab.client.delete(sandboxType, { namespace: "default", name: "warm-1" });
    await using claims = await lab.startClaims({ intercept: beforeThe(adopts, remove) });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-2");
    expect(story(claims).slice(0, 4)).toEqual(["assign", "adopt warm-1", "take back", "AdoptionConflict"]);
  });

  it("and changes all the time stays assigned, until it can be had", async () => {
    await using lab = await openWarmLab();
    const intercept = beforeThe(adopts, () => annotate(lab, sandboxType, "warm-1"), 5);
    await using claims = await lab.startClaims({ intercept });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-1");
    const fiveTimes = Array.from({ length: 5 }, () => "adopt warm-1");
    expect(story(claims)).toEqual(["assign", ...fiveTimes, "AdoptionConflict", "adopt warm-1", "DependenciesReady"]);
  });

  it("and went to another claim stays assigned while that cannot be taken back, and is dropped later", async () => {
    await using lab = await openWarmLab(2);
    let refusals = 1;
    const intercept: Intercept = async (call, proceed) => {
      if (adopts(call) && call.name === "warm-1") await giveAway(lab).catch(() => {});
      if (takesBack(call) && refusals-- > 0) throw new ApiUnreachable("no answer");
      return proceed();
    };
    await using claims = await lab.startClaims({ intercept });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-2");
    expect(story(claims).slice(0, 5)).toEqual(["assign", "adopt warm-1", "take back", "AdoptionConflict", "take back"]);
  });

  it("is left as it is when the controller ends in the middle, without a word about a conflict", async () => {
    await using lab = await openWarmLab();
    const ended = Promise.withResolvers<void>();
    const intercept: Intercept = (call, proceed) => {
      if (!adopts(call)) return proceed();
      ended.resolve();
      return Promise.reject(conflict());
    };
    {
      await using _claims = await lab.startClaims({ intercept });
      await lab.claim("task");
      await ended.promise;
    }
    expect(await assignmentOf(lab, "task")).toBe("warm-1");
    expect((await lab.get(sandboxClaimType, "task"))?.status).toBeUndefined();
  });
});

describe("an adoption that another process began", () => {
  const assignedTo = (sandbox: string) => ({ annotations: { [assignedSandboxAnnotation]: sandbox } });

  it("is completed without another sandbox being asked for", async () => {
    await using lab = await openWarmLab(2);
    await lab.claim("task", {}, assignedTo("warm-2"));
    await using claims = await lab.startClaims();
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-2");
    expect(claims.calls.filter(assigns)).toEqual([]);
  });

  it("is given up when its sandbox is not to be had, after asking the API server itself", async () => {
    await using lab = await openWarmLab(2);
    await giveAway(lab);
    await lab.claim("task", {}, assignedTo("warm-1"));
    await using claims = await lab.startClaims();
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-2");
    expect(claims.calls).toContainEqual(expect.objectContaining({ verb: "get", kind: "Sandbox", name: "warm-1" }));
    expect(story(claims)).toEqual(["take back", "assign", "adopt warm-2", "DependenciesReady"]);
  });

  it("is written again when an older release wrote it", async () => {
    await using lab = await openWarmLab();
    const task = await lab.claim("task", {}, { labels: { [assignedSandboxLabel]: "warm-1" } });
    await lab.patch(sandboxType, "warm-1", { metadata: { ownerReferences: [controlledBy(task)] } });
    await using _claims = await lab.startClaims();
    const { metadata } = await lab.untilReady("task");
    expect(metadata.labels ?? {}).toEqual({});
    expect(metadata.annotations).toMatchObject({ [assignedSandboxAnnotation]: "warm-1" });
  });

  it("is believed before a store that does not show it yet", async () => {
    await using lab = await openWarmLab(2);
    await using claims = await lab.startClaims();
    await lab.claim("task");
    await lab.untilReady("task");
    await annotate(lab, sandboxClaimType, "task");
    await vi.waitFor(async () => {
      expect((await lab.get(sandboxClaimType, "task"))?.metadata.annotations).toHaveProperty("example.org/note");
    }, waiting);
    expect(claims.calls.filter(adopts)).toHaveLength(1);
    expect(writesOf(claims)).toEqual([
      "patch SandboxClaim task",
      "patch Sandbox warm-1",
      "patch SandboxClaim task",
      "patch SandboxClaim task",
    ]);
  });
});

describe("a candidate", () => {
  it("is free again when its claim could not be assigned it", async () => {
    await using lab = await openWarmLab();
    let answers = 0;
    const intercept: Intercept = (call, proceed) =>
      assigns(call) && answers++ === 0 ? Promise.reject(new ApiUnreachable("no answer")) : proceed();
    await using _claims = await lab.startClaims({ intercept });
    await lab.claim("task");
    expect((await lab.untilReady("task")).status?.sandbox?.name).toBe("warm-1");
  });
});
