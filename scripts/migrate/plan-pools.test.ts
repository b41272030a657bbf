import { describe, expect, it } from "vitest";
import type { SandboxClaimV1alpha1 } from "../../api/conversion/v1alpha1.ts";
import { generatedName } from "../../api/rules/generated-name.ts";
import { anAlphaClaim, anAlphaPool } from "../../test/support/builders/versions.ts";
import { planPools } from "./plan-pools.ts";

const claim = (name: string, spec: SandboxClaimV1alpha1["spec"] = {}, sandboxName?: string): SandboxClaimV1alpha1 => ({
  ...anAlphaClaim(spec, sandboxName),
  metadata: { name, namespace: "lab" },
});
const namesOf = (claims: readonly SandboxClaimV1alpha1[]) =>
  planPools(claims, []).create.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

describe("the pools that claims will need", () => {
  it("stand for a template, make no sandboxes, and say where they come from", () => {
    expect(planPools([claim("a")], []).create).toEqual([
      {
        apiVersion: "extensions.agents.x-k8s.io/v1alpha1",
        kind: "SandboxWarmPool",
        metadata: {
          name: "shadow-pool-my-template",
          namespace: "lab",
          annotations: {
            "agents.x-k8s.io/migration-shadow": "true",
            "agents.x-k8s.io/migration-source-template": "my-template",
          },
        },
        spec: { replicas: 0, sandboxTemplateRef: { name: "my-template" } },
      },
    ]);
  });

  it.each([
    { warmpool: undefined, sandbox: undefined, needed: true },
    { warmpool: "", sandbox: undefined, needed: true },
    { warmpool: "none", sandbox: "a", needed: true },
    { warmpool: "default", sandbox: "", needed: true },
    { warmpool: "default", sandbox: "a", needed: true },
    { warmpool: "default", sandbox: "my-pool-abcde", needed: false },
    { warmpool: "my-pool", sandbox: undefined, needed: false },
  ])(
    "are needed ($needed) by a claim with warmpool $warmpool and sandbox $sandbox",
    ({ warmpool, sandbox, needed }) => {
      expect(namesOf([claim("a", warmpool === undefined ? {} : { warmpool }, sandbox)])).toHaveLength(needed ? 1 : 0);
    },
  );

  it("are created once for each template of a namespace", () => {
    const elsewhere = { ...claim("a"), metadata: { name: "a", namespace: "other" } };
    const another = claim("c", { sandboxTemplateRef: { name: "t2" } });
    expect(namesOf([claim("a"), claim("b"), another, elsewhere])).toEqual([
      "lab/shadow-pool-my-template",
      "lab/shadow-pool-t2",
      "other/shadow-pool-my-template",
    ]);
  });

  it("are reported where the name of a sandbox does not tell the whole name of its pool", () => {
    const pool = "a-pool-of-a-team-with-a-very-long-name-for-its-sandboxes-eu-1";
    const served = claim("a", { warmpool: "default" }, generatedName(`${pool}-`));
    const known = anAlphaPool();
    const usual = claim("b", { warmpool: "default" }, `${known.metadata.name}-abcde`);
    const { create, notes } = planPools(
      [served, usual],
      [{ ...known, metadata: { ...known.metadata, namespace: "lab" } }],
    );
    expect(create).toEqual([]);
    expect(notes).toEqual([
      expect.stringContaining(
        "the pool is a-pool-of-a-team-with-a-very-long-name-for-its-sandboxes, but this pool does not exist",
      ),
    ]);
  });

  it("are not created again", () => {
    const { create } = planPools([claim("a")], []);
    expect(planPools([claim("a")], create)).toEqual({ create: [], notes: [], problems: [] });
  });

  it("are reported if a claim names one that does not exist", () => {
    const pools = [{ ...anAlphaPool(), metadata: { name: "my-pool", namespace: "lab" } }];
    const claims = [claim("a", { warmpool: "my-pool" }), claim("b", { warmpool: "gone" })];
    expect(planPools(claims, pools)).toEqual({
      create: [],
      notes: ["claim lab/b names pool gone, which does not exist"],
      problems: [],
    });
  });

  it("cannot be created with a name that is too long", () => {
    const fits = "t".repeat(51);
    expect(namesOf([claim("a", { sandboxTemplateRef: { name: fits } })])).toEqual([`lab/shadow-pool-${fits}`]);
    const { create, problems } = planPools([claim("a", { sandboxTemplateRef: { name: `${fits}t` } })], []);
    expect(create).toEqual([]);
    expect(problems).toEqual([expect.stringContaining("a name of more than 63 characters")]);
  });

  it("cannot be created if one of another template has the name", () => {
    const taken = anAlphaPool({ sandboxTemplateRef: { name: "another" } });
    const pools = [{ ...taken, metadata: { name: "shadow-pool-my-template", namespace: "lab" } }];
    expect(planPools([claim("a")], pools)).toEqual({
      create: [],
      notes: [],
      problems: ["pool lab/shadow-pool-my-template exists, but its template is another, not my-template"],
    });
  });
});
