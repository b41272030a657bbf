import { describe, expect, it } from "vitest";
import { sandboxClaimV1alpha1Type } from "../../api/conversion/v1alpha1.ts";
import { namespaceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { v1alpha1StateAnnotations } from "../../api/rules/keys.ts";
import { openClaimLab } from "../../test/support/labs/claim-lab.ts";

describe("a claim without a pool that exists", () => {
  it("that names only a template, as older clients write it, is served once the template exists", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    const spec = { sandboxTemplateRef: { name: "template" } };
    const metadata = { namespace: "default", name: "task" };
    await lab.client.create(sandboxClaimV1alpha1Type, { metadata, spec });
    await lab.untilReady("task", { reason: "TemplateNotFound", message: 'SandboxTemplate "template" not found' });
    await lab.template();
    const { status } = await lab.untilReady("task");
    expect(status?.sandbox?.name).toBe("task");
    expect(await lab.client.get(sandboxClaimV1alpha1Type, metadata)).toMatchObject({
      spec: { ...spec, warmpool: "default" },
    });
  });

  it("that names the pool of a migration in the newer version gets the error that there is no such pool", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template();
    await lab.claim("task", { warmPoolRef: { name: "shadow-pool-template" } });
    await lab.untilReady("task", { reason: "WarmPoolNotFound" });
  });

  const pool = (name: string) => ({ warmPoolRef: { name } });
  const notFound = { reason: "WarmPoolNotFound" };
  /** The annotation as the conversion writes it, which any author of a claim can write too. */
  const writtenByHand = (state: unknown) => ({
    annotations: { [v1alpha1StateAnnotations.SandboxClaim]: JSON.stringify(state) },
  });
  const ofTemplate = writtenByHand({ spec: { sandboxTemplateRef: { name: "template" } } });

  it("reaches no other template when the newer version changes the pool of a claim of older clients", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template({}, "secret");
    const spec = { sandboxTemplateRef: { name: "template" } };
    await lab.client.create(sandboxClaimV1alpha1Type, { metadata: { namespace: "default", name: "task" }, spec });
    await lab.untilReady("task", { reason: "TemplateNotFound" });
    await lab.patch(sandboxClaimType, "task", { spec: pool("shadow-pool-secret") });
    await lab.untilReady("task", { ...notFound, message: 'SandboxWarmPool "shadow-pool-secret" not found' });
    expect(await lab.get(sandboxType, "task")).toBeUndefined();
  });

  it.each([
    { what: "no state", metadata: {} },
    {
      what: "the state of a claim of another template",
      metadata: writtenByHand({ spec: { sandboxTemplateRef: { name: "x" } } }),
    },
    {
      what: "the state of a claim of a pool",
      metadata: writtenByHand({ spec: { sandboxTemplateRef: { name: "template" }, warmpool: "p" } }),
    },
    { what: "a state that cannot be read", metadata: writtenByHand(null) },
  ])("in the newer version reaches no template without a pool, with $what", async ({ metadata }) => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template();
    await lab.claim("task", pool("shadow-pool-template"), metadata);
    await lab.untilReady("task", notFound);
  });

  it("gets by a state written by hand what the older version gives to the same author, and no more", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController();
    await lab.template();
    await lab.client.create(namespaceType, { metadata: { name: "other" } });
    const { spec: ofSecret } = await lab.template({}, "secret");
    await lab.client.delete(sandboxTemplateType, { namespace: "default", name: "secret" });
    await lab.client.create(sandboxTemplateType, { metadata: { namespace: "other", name: "secret" }, spec: ofSecret });
    await lab.claim("by-hand", pool("shadow-pool-template"), ofTemplate);
    const metadata = { namespace: "default", name: "older" };
    const spec = { sandboxTemplateRef: { name: "template" } };
    await lab.client.create(sandboxClaimV1alpha1Type, { metadata, spec });
    const [byHand, older] = [await lab.untilReady("by-hand"), await lab.untilReady("older")];
    // An admission policy on the name of the pool sees both.
    expect(byHand.spec).toEqual(older.spec);
    for (const name of ["secret", "other/secret"]) {
      const state = writtenByHand({ spec: { sandboxTemplateRef: { name, namespace: "other" } } });
      await lab.claim(`of-${name.replace("/", "-")}`, pool(`shadow-pool-${name}`), state);
      const message = `SandboxTemplate "${name}" not found`;
      await lab.untilReady(`of-${name.replace("/", "-")}`, { reason: "TemplateNotFound", message });
    }
  });

  it("names no template, also by a state written by hand, where the older version is not served", async () => {
    await using lab = await openClaimLab();
    await using _controller = await lab.startController({ servesV1alpha1: false });
    await lab.template();
    await lab.claim("task", pool("shadow-pool-template"), ofTemplate);
    await lab.untilReady("task", notFound);
  });
});
