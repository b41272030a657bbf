import { describe, expect, it } from "vitest";
import { safeToEvictAnnotation } from "../../../api/rules/keys.ts";
import { ClaimProblem } from "../claim-problem.ts";
import { defaultLabelDomains } from "./allowed-label-domains.ts";
import { validateMetadata } from "./validate-metadata.ts";

function verdict(
  metadata: Parameters<typeof validateMetadata>[0],
  allowedDomains: readonly string[] = defaultLabelDomains,
): string {
  try {
    validateMetadata(metadata, allowedDomains);
    return "fine";
  } catch (error) {
    if (!(error instanceof ClaimProblem)) throw error;
    return `${error.reason}, ${error.remedy}: ${error.message}`;
  }
}

describe("a label that a claim asks for", () => {
  it.each([
    ["in the domain for users", "sandbox.users.io/x", "value"],
    ["in a domain below it", "team.sandbox.users.io/x", ""],
    ["with the longest value", "sandbox.users.io/x", "v".repeat(63)],
  ])("is accepted %s", (_case, key, value) => {
    expect(verdict({ labels: { [key]: value } })).toBe("fine");
  });

  it.each([
    ["without a domain", "team", "red", "it needs a domain"],
    ["in a foreign domain", "example.org/team", "red", "its domain is none of sandbox.users.io"],
    ["in a domain that only ends alike", "notsandbox.users.io/x", "red", "its domain is none of"],
    ["in a domain of the system", "agents.x-k8s.io/claim-uid", "red", "its domain is none of"],
    ["with a key that is none", "sandbox.users.io/-x", "red", "it is not a qualified name"],
    ["with two slashes", "sandbox.users.io/x/y", "red", "it is not a qualified name"],
    ["with a name that is too long", `sandbox.users.io/${"n".repeat(64)}`, "red", "it is not a qualified name"],
    ["with a value that is too long", "sandbox.users.io/x", "v".repeat(64), "longer than 63 characters"],
    ["with a value of other characters", "sandbox.users.io/x", "a b", "its value is not a label value"],
    ["that poses as the router", "app", "Sandbox-Router", 'the value "Sandbox-Router" is reserved'],
    ["that poses as it in capitals", "APP", "sandbox-router", "is reserved"],
  ])("is rejected %s, until a person edits it", (_case, key, value, why) => {
    expect(verdict({ labels: { [key]: value } })).toMatch(/^InvalidMetadata, edit: invalid label /);
    expect(verdict({ labels: { [key]: value } })).toContain(why);
  });

  it("may be in a domain that is configured, and in those below", () => {
    const labels = { "corp.example/x": "1", "team.corp.example/y": "2" };
    expect(verdict({ labels }, ["corp.example"])).toBe("fine");
    expect(verdict({ labels: { "sandbox.users.io/x": "1" } }, ["corp.example"])).toContain("InvalidMetadata");
  });

  it("names the first invalid key in alphabetical order, so that the text stays the same", () => {
    expect(verdict({ labels: { b: "1", a: "1" } })).toContain('invalid label "a"');
  });
});

describe("an annotation that a claim asks for", () => {
  it.each([["anything"], ["example.org/x"], ["notk8s.io/x"], [safeToEvictAnnotation]])("may be %s", (key) => {
    expect(verdict({ annotations: { [key]: "free text, of any length".repeat(9) } })).toBe("fine");
  });

  it.each(["foo.kubernetes.io/x", "k8s.io/x", "api.agents.x-k8s.io/v1alpha1-sandbox-state", "bad key", "/x"])(
    "may not be %s",
    (key) => {
      expect(verdict({ annotations: { [key]: "1" } })).toMatch(/^InvalidMetadata, edit: invalid annotation /);
    },
  );
});
