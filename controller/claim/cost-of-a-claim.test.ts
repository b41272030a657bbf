import { describe, expect, it, vi } from "vitest";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { claimFirstReadyAtAnnotation, controllerFirstObservedAtAnnotation } from "../../api/rules/keys.ts";
import { ApiUnreachable } from "../../kube/client/errors.ts";
import { openClaimLab } from "../../test/support/labs/claim-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

describe("what a claim costs (5.12)", () => {
  const writes = (calls: readonly { verb: string; kind: string; name: string; subresource: string | undefined }[]) =>
    calls.map(({ verb, kind, subresource }) => [verb, kind, ...(subresource ? [subresource] : [])].join(" "));

  it("is four writes for a warm claim, no read, and no call at rest", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(1);
    await lab.spare("warm-1");
    await using claims = await lab.startClaims();
    await lab.claim("task");
    await vi.waitFor(() => expect(claims.calls).toHaveLength(4), waiting);
    expect(writes(claims.calls)).toEqual([
      "patch SandboxClaim",
      "patch Sandbox",
      "patch SandboxClaim status",
      "patch SandboxClaim",
    ]);
    for (let pass = 1; pass <= 10; pass += 1) {
      await lab.patch(sandboxClaimType, "task", { metadata: { annotations: { pass: `${pass}` } } });
    }
    await lab.claim("next", { warmPoolRef: { name: "missing" } });
    await lab.untilReady("next", { reason: "WarmPoolNotFound" });
    expect(writes(claims.calls.filter(({ name }) => name !== "next"))).toHaveLength(4);
  });

  it("does not keep other claims waiting while the time of its first Ready is written", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(4);
    const names = ["a", "b", "c", "d"];
    for (const name of names) await lab.spare(`warm-${name}`);
    const allReady = Promise.withResolvers<void>();
    const isTime = (body: unknown) => JSON.stringify(body).includes(claimFirstReadyAtAnnotation);
    await using _claims = await lab.startClaims({
      workers: 2,
      intercept: async (call, proceed) => {
        if (call.verb === "patch" && isTime(call.body)) await allReady.promise;
        return proceed();
      },
    });
    for (const name of names) await lab.claim(name);
    for (const name of names) await lab.untilReady(name);
    allReady.resolve();
    await vi.waitFor(async () => {
      for (const name of names) {
        const { annotations } = (await lab.get(sandboxClaimType, name))?.metadata ?? {};
        expect(annotations?.[claimFirstReadyAtAnnotation]).toMatch(/Z$/);
      }
    }, waiting);
  });

  it("is one write less for a cold claim without annotations, and its time is measured all the same", async () => {
    await using lab = await openClaimLab();
    await using controller = await lab.startController({ flags: ["--disable-claim-observability-annotations"] });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task");
    await lab.untilReady("task");
    await vi.waitFor(async () => {
      const { annotations } = (await lab.get(sandboxClaimType, "task"))?.metadata ?? {};
      expect(annotations).toHaveProperty([claimFirstReadyAtAnnotation]);
      expect(annotations).not.toHaveProperty([controllerFirstObservedAtAnnotation]);
    }, waiting);
    expect(await controller.metrics()).toMatch(/agent_sandbox_claim_controller_startup_latency_ms_count\{[^}]*\} 1/);
    const ofClaim = writes(controller.calls.filter(({ kind }) => kind === "SandboxClaim"));
    expect(ofClaim.filter((write) => write === "patch SandboxClaim")).toHaveLength(1);
    expect(ofClaim.length).toBeLessThanOrEqual(4);
  });

  it("is no event where they are switched off", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController({ flags: ["--disable-claim-events"] });
    await lab.warm(1);
    await lab.claim("task");
    await lab.untilReady("task");
    await lab.claim("next");
    await lab.untilReady("next");
    expect(await lab.eventReasons()).toEqual([]);
  });

  it("is no more when another client writes at the same time as its status: the next reconcile reports it", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(1);
    await lab.spare("warm-1");
    const clash = { left: 1 };
    await using claims = await lab.startClaims({
      intercept: async (call, proceed) => {
        if (call.subresource === "status" && clash.left-- > 0) {
          await lab.patch(sandboxClaimType, "task", { metadata: { annotations: { note: "mine" } } });
        }
        return proceed();
      },
    });
    await lab.claim("task");
    await lab.untilReady("task");
    const text = await claims.registry.metrics();
    expect(text).toContain('controller_runtime_reconcile_errors_total{controller="sandboxclaim"} 0');
    expect(text).toMatch(/agent_sandbox_claim_controller_startup_latency_ms_count\{[^}]*\} 1/);
  });
});

describe("the time of its first Ready", () => {
  it("that could not be written down is an error, counts once, and is filled in as unknown", async () => {
    await using lab = await openClaimLab({ kubelet: false });
    await lab.template();
    await lab.pool(1);
    await lab.spare("warm-1");
    let failures = 1;
    await using claims = await lab.startClaims({
      intercept: async (call, proceed) => {
        const isNote = JSON.stringify(call.body ?? {}).includes(claimFirstReadyAtAnnotation);
        if (call.verb === "patch" && isNote && failures-- > 0) throw new ApiUnreachable("no answer");
        return proceed();
      },
    });
    await lab.claim("task");
    await vi.waitFor(async () => {
      const claim = await lab.get(sandboxClaimType, "task");
      expect(claim?.metadata.annotations).toMatchObject({ [claimFirstReadyAtAnnotation]: "unknown" });
    }, waiting);
    const text = await claims.registry.metrics();
    expect(text).toContain('controller_runtime_reconcile_errors_total{controller="sandboxclaim"} 1');
    expect(text).toMatch(/agent_sandbox_claim_controller_startup_latency_ms_count\{[^}]*\} 1/);
  });
});
