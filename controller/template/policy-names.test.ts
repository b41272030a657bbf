import { describe, expect, it, vi } from "vitest";
import { eventType } from "../../api/kinds/core.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import { isDnsSubdomain } from "../../api/rules/names.ts";
import { openExtensionsLab } from "../../test/support/labs/extensions-lab.ts";
import { waiting } from "../../test/support/waiting.ts";
import { networkPolicyName } from "./make-network-policy.ts";

describe("the name of a template's network policy", () => {
  it("is the template's with an ending, while that is no longer than a name may be", () => {
    expect(networkPolicyName("tpl")).toBe("tpl-network-policy");
    const longest = "t".repeat(238);
    expect(networkPolicyName(longest)).toBe(`${longest}-network-policy`);
  });

  it.each([
    "t".repeat(239),
    "t".repeat(253),
    `${"t".repeat(228)}.${"u".repeat(24)}`,
    `${"t".repeat(228)}-${"u".repeat(24)}`,
  ])("is one that a name may be for a longer template (%#), and another for another template", (name) => {
    const policy = networkPolicyName(name);
    expect(isDnsSubdomain(policy)).toBe(true);
    expect(policy).toMatch(/^t+-[0-9a-f]{8}-network-policy$/);
    expect(networkPolicyName(`${name.slice(0, -1)}x`)).not.toBe(policy);
  });

  it("lets a template with the longest name have its policy", async () => {
    await using lab = await openExtensionsLab();
    const name = "t".repeat(253);
    await lab.createTemplate({}, name);
    const policy = await vi.waitFor(async () => {
      const found = await lab.find(networkPolicyType, networkPolicyName(name));
      expect(found).toBeDefined();
      return found;
    }, waiting);
    expect(policy?.metadata.ownerReferences?.[0]?.name).toBe(name);
  });
});

describe("a template whose network policy cannot be written", () => {
  it("says so in an event, for nothing else would", async () => {
    await using lab = await openExtensionsLab();
    const where = { namespace: "default", name: "tpl-network-policy" };
    await lab.client.create(networkPolicyType, { metadata: where, spec: { podSelector: {} } });
    await lab.createTemplate();
    await vi.waitFor(async () => {
      const { items } = await lab.client.list(eventType, { namespace: "default" });
      const event = items.find(({ regarding }) => regarding?.kind === "SandboxTemplate");
      expect(event).toMatchObject({ type: "Warning", reason: "NetworkPolicyNotWritten" });
      expect(event?.note).toContain("refusing to update it");
    }, waiting);
  });
});
