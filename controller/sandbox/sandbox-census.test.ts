import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { templateRefAnnotation } from "../../api/keys.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { aSandbox, controlledBy } from "../../test/support/builders.ts";
import { aPool } from "../../test/support/extension-builders.ts";
import { registerSandboxCensus } from "./sandbox-census.ts";

/** The series of a scrape. */
async function census(...sandboxes: readonly Sandbox[]): Promise<readonly string[]> {
  const registry = new Registry();
  registerSandboxCensus(registry, () => sandboxes);
  return (await registry.metrics()).match(/^agent_sandboxes\{.*/gm) ?? [];
}

const ofTemplate = (name: string) => ({ annotations: { [templateRefAnnotation]: name } });

describe("the count of sandboxes", () => {
  it("M13: has a series for those that name no template", async () => {
    const [series] = await census(aSandbox());
    expect(series).toContain('sandbox_template="unknown"');
    expect(series).toContain('owned_by="None"');
  });

  it("M14: has one series for all that are alike", async () => {
    const series = await census(
      aSandbox({}, ofTemplate("a")),
      aSandbox({}, ofTemplate("a")),
      aSandbox({}, ofTemplate("b")),
      aSandbox(),
    );
    expect(series.map((each) => each.split(" ").at(-1))).toEqual(["2", "1", "1"]);
  });

  it("M15, U4: knows a pool whatever version its reference names", async () => {
    const older = { ...controlledBy(aPool()), apiVersion: "extensions.agents.x-k8s.io/v1alpha1" };
    const [series] = await census(aSandbox({}, { ownerReferences: [older] }));
    expect(series).toContain('owned_by="SandboxWarmPool"');
  });

  it("X19: tells those that are suspended from those that run", async () => {
    const [suspended, running] = await census(aSandbox({ operatingMode: "Suspended" }), aSandbox());
    expect(suspended).toContain('operating_mode="Suspended"');
    expect(running).toContain('operating_mode="Running"');
  });
});
