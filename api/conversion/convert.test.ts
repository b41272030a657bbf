import { describe, expect, it } from "vitest";
import {
  aBetaSandbox,
  anAlphaSandbox,
  anAlphaTemplate,
  core,
  extensions,
} from "../../test/support/builders/versions.ts";
import { ConversionError } from "./conversion-error.ts";
import { convert } from "./convert.ts";

function failureOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ConversionError) return `${error.failure}: ${error.message}`;
    throw error;
  }
  return "none";
}

describe("convert", () => {
  it("returns an object that has the version already as it is", () => {
    const sandbox = aBetaSandbox();
    expect(convert(sandbox, core.beta)).toBe(sandbox);
    const older = anAlphaSandbox();
    expect(convert(older, core.alpha)).toBe(older);
  });

  it("takes an object of which only some fields are known", () => {
    const bare = { apiVersion: core.alpha, kind: "Sandbox", metadata: { name: "nova" } };
    expect(convert(bare, core.beta)).toMatchObject({ spec: { operatingMode: "Running" } });
    const claim = { apiVersion: extensions.alpha, kind: "SandboxClaim", metadata: { name: "c" }, spec: null };
    expect(convert(claim, extensions.beta)).toMatchObject({ spec: { warmPoolRef: { name: "shadow-pool-" } } });
  });

  it.each([
    { given: "nothing", object: undefined, to: core.beta, failure: "MalformedObject" },
    { given: "no metadata", object: { apiVersion: core.alpha, kind: "Sandbox" }, to: core.beta, failure: "Malformed" },
    { given: "a text for a spec", object: { ...anAlphaSandbox(), spec: "x" }, to: core.beta, failure: "Malformed" },
    {
      given: "a foreign kind",
      object: { apiVersion: "v1", kind: "Pod", metadata: {} },
      to: core.beta,
      failure: "UnknownKind",
    },
    {
      given: "our kind in a foreign group",
      object: { ...anAlphaSandbox(), apiVersion: "agents.example/v1alpha1" },
      to: core.beta,
      failure: "UnknownKind",
    },
    { given: "a wish for another group", object: anAlphaSandbox(), to: extensions.beta, failure: "UnknownVersion" },
    { given: "a wish for a version to come", object: anAlphaSandbox(), to: "agents.x-k8s.io/v2", failure: "UnknownV" },
    {
      given: "a version of the past",
      object: { ...anAlphaSandbox(), apiVersion: "agents.x-k8s.io/v1alpha0" },
      to: core.beta,
      failure: "UnknownVersion",
    },
  ])("refuses $given", ({ object, to, failure }) => {
    expect(failureOf(() => convert(object, to))).toContain(failure);
  });

  it("names the object that it cannot convert", () => {
    const broken = { ...anAlphaTemplate(), metadata: { namespace: "lab", name: "tpl" }, status: "no object" };
    expect(failureOf(() => convert(broken, extensions.beta))).toContain("MalformedObject: SandboxTemplate lab/tpl: ");
  });
});
