import { describe, expect, it } from "vitest";
import { aBetaClaim, anAlphaClaim, extensions } from "../../test/support/builders/versions.ts";
import type { SandboxClaim } from "../kinds/sandbox-claim.ts";
import { claimedSandboxName } from "../rules/claimed-sandbox-name.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { allKinds, convert } from "./convert.ts";
import type { SandboxClaimV1alpha1 } from "./v1alpha1.ts";

const toBeta = (claim: SandboxClaimV1alpha1) => convert(claim, extensions.beta) as SandboxClaim;
const toAlpha = (claim: SandboxClaim) => convert(claim, extensions.alpha) as SandboxClaimV1alpha1;
const withPool = (claim: SandboxClaim, name: string): SandboxClaim => ({
  ...claim,
  spec: { ...claim.spec, warmPoolRef: { name } },
});

describe("a v1alpha1 claim", () => {
  it.each([
    { warmpool: "my-pool", sandbox: undefined, pool: "my-pool" },
    { warmpool: "none", sandbox: "my-claim", pool: "shadow-pool-my-template" },
    { warmpool: "default", sandbox: "my-claim", pool: "shadow-pool-my-template" },
    { warmpool: "my-pool", sandbox: "my-pool-abcde", pool: "my-pool" },
    { warmpool: "my-pool", sandbox: "other-abcde", pool: "my-pool" },
    { warmpool: "default", sandbox: "my-pool-abcde", pool: "my-pool" },
    { warmpool: "default", sandbox: "nodash", pool: "nodash" },
    { warmpool: undefined, sandbox: undefined, pool: "shadow-pool-my-template" },
    { warmpool: "", sandbox: "", pool: "shadow-pool-my-template" },
  ])(
    "with warmpool $warmpool and sandbox $sandbox refers to $pool, and comes back as it was",
    ({ warmpool, sandbox, pool }) => {
      const original = anAlphaClaim(warmpool === undefined ? {} : { warmpool }, sandbox);
      const converted = toBeta(original);
      expect(converted.spec).toEqual({ warmPoolRef: { name: pool } });
      expect(converted.status).toEqual(original.status);
      expect(toAlpha(converted)).toEqual(original);
    },
  );

  it("keeps every other field both ways", () => {
    const shared = {
      lifecycle: { shutdownPolicy: "Retain", ttlSecondsAfterFinished: 0 },
      additionalPodMetadata: { labels: { team: "red" } },
      env: [{ name: "A", value: "1" }],
    } as const;
    expect(toBeta(anAlphaClaim(shared)).spec).toMatchObject(shared);
    expect(toAlpha(aBetaClaim("p", shared)).spec).toMatchObject(shared);
  });

  it("names its template though its sandbox has another name, since a claim's name may have dots", () => {
    const original = {
      ...anAlphaClaim({ warmpool: "default" }),
      metadata: { name: "my.claim", uid: "uid-of-my.claim" },
    };
    const sandbox = claimedSandboxName(original.metadata);
    expect(sandbox).toMatch(/^my-claim-/);
    const converted = toBeta({ ...original, status: { sandbox: { name: sandbox } } });
    expect(converted.spec.warmPoolRef).toEqual({ name: "shadow-pool-my-template" });
  });

  it("keeps its original if its sandbox has the name of the pool", () => {
    const original = anAlphaClaim({ warmpool: "default" }, "my-pool-abcde");
    expect(toAlpha(withPool(toBeta(original), "my-pool-abcde")).spec).toEqual(original.spec);
  });

  it("keeps its original if its template became its pool", () => {
    const original = anAlphaClaim({ warmpool: "none" });
    expect(toAlpha(withPool(toBeta(original), "my-template")).spec).toEqual(original.spec);
  });
});

describe("a v1beta1 claim", () => {
  it("of a pool that stands for a template is one of that template, of any pool", () => {
    expect(toAlpha(aBetaClaim("shadow-pool-t")).spec).toEqual({
      sandboxTemplateRef: { name: "t" },
      warmpool: "default",
    });
  });

  it.each(["p", ""])("of the pool '%s' has the pool's name for its template too", (pool) => {
    expect(toAlpha(aBetaClaim(pool)).spec).toEqual({ sandboxTemplateRef: { name: pool }, warmpool: pool });
  });

  it("of another pool than it was written with keeps its template", () => {
    const edited = withPool(toBeta(anAlphaClaim({ warmpool: "my-pool" })), "other");
    expect(toAlpha(edited).spec).toEqual({ sandboxTemplateRef: { name: "my-template" }, warmpool: "other" });
  });

  it("loses its volumes, which v1alpha1 has no place for", () => {
    const claim = aBetaClaim("p", { volumeClaimTemplates: [{ spec: {} }] });
    expect(toAlpha(claim).spec).not.toHaveProperty("volumeClaimTemplates");
  });

  it.each(["", "[]", '{"spec":{"sandboxTemplateRef":{}}}', '{"spec":{"warmpool":1}}'])(
    "with the state '%s' has only its v1beta1 fields, and the state is reported as ignored",
    (state) => {
      const claim = aBetaClaim("p");
      const annotations = { [v1alpha1StateAnnotations.SandboxClaim]: state };
      const broken = { ...claim, metadata: { ...claim.metadata, annotations } };
      const ignored: string[] = [];
      expect(convert(broken, extensions.alpha, allKinds, ignored)).toEqual(toAlpha(claim));
      expect(ignored).toEqual([expect.stringContaining("cannot be read: ")]);
    },
  );
});
