import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { templateRefAnnotation } from "../../../api/rules/keys.ts";
import { aSandbox, controlledBy } from "../../../test/support/builders/builders.ts";
import { aPool } from "../../../test/support/builders/extension-builders.ts";
import { registerSandboxGauge } from "./sandbox-gauge.ts";

/** The series of a scrape. */
async function census(...sandboxes: readonly Sandbox[]): Promise<readonly string[]> {
  const registry = new Registry();
  registerSandboxGauge(registry, () => sandboxes);
  return (await registry.metrics()).match(/^agent_sandboxes\{.*/gm) ?? [];
}

const ofTemplate = (name: string) => ({ annotations: { [templateRefAnnotation]: name } });

describe("the count of sandboxes", () => {
  it("has a series for those that name no template", async () => {
    const [series] = await census(aSandbox());
    expect(series).toContain('sandbox_template="unknown"');
    expect(series).toContain('owned_by="None"');
  });

  it("has one series for all that are alike", async () => {
    const series = await census(
      aSandbox({}, ofTemplate("a")),
      aSandbox({}, ofTemplate("a")),
      aSandbox({}, ofTemplate("b")),
      aSandbox(),
    );
    expect(series.map((each) => each.split(" ").at(-1))).toEqual(["2", "1", "1"]);
  });

  it("knows a pool whatever version its reference names", async () => {
    const older = { ...controlledBy(aPool()), apiVersion: "extensions.agents.x-k8s.io/v1alpha1" };
    const [series] = await census(aSandbox({}, { ownerReferences: [older] }));
    expect(series).toContain('owned_by="SandboxWarmPool"');
  });

  it("distinguishes those that are suspended from those that run", async () => {
    const [suspended, running] = await census(aSandbox({ operatingMode: "Suspended" }), aSandbox());
    expect(suspended).toContain('operating_mode="Suspended"');
    expect(running).toContain('operating_mode="Running"');
  });
});
