import { describe, expect, it } from "vitest";
import { aBetaPool, anAlphaPool, extensions } from "../../test/support/builders/versions.ts";
import type { SandboxWarmPool } from "../kinds/sandbox-warm-pool.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { convert } from "./convert.ts";
import type { SandboxWarmPoolV1alpha1 } from "./v1alpha1.ts";

const toBeta = (pool: SandboxWarmPoolV1alpha1) => convert(pool, extensions.beta) as SandboxWarmPool;
const toAlpha = (pool: SandboxWarmPool) => convert(pool, extensions.alpha) as SandboxWarmPoolV1alpha1;

describe("a SandboxWarmPool", () => {
  it("without replicas has one in v1alpha1", () => {
    expect(toAlpha(aBetaPool()).spec?.replicas).toBe(1);
  });

  it("without replicas stays without", () => {
    expect(toAlpha(aBetaPool({ replicas: 0 })).spec?.replicas).toBe(0);
    expect(toBeta(anAlphaPool({ replicas: 0 })).spec.replicas).toBe(0);
  });

  it("has no update strategy in one version that it had not in the other", () => {
    const original = anAlphaPool();
    expect(toBeta(original).spec).not.toHaveProperty("updateStrategy");
    expect(toAlpha(toBeta(original))).toEqual(original);
    const empty = anAlphaPool({ updateStrategy: {} });
    expect(toBeta(empty).spec.updateStrategy).toEqual({});
    expect(toAlpha(toBeta(empty))).toEqual(empty);
  });

  it("has no observed generation in v1alpha1", () => {
    const counted = { replicas: 3, readyReplicas: 2, selector: "a=b" };
    expect(toAlpha(aBetaPool({}, { ...counted, observedGeneration: 4 })).status).toEqual(counted);
    expect(toAlpha(aBetaPool({}, { observedGeneration: 4 }))).not.toHaveProperty("status");
  });

  it("is converted back without reading the state", () => {
    const pool = aBetaPool({ replicas: 2 });
    const annotations = { [v1alpha1StateAnnotations.SandboxWarmPool]: "not JSON" };
    expect(toAlpha({ ...pool, metadata: { ...pool.metadata, annotations } }).metadata).toEqual(pool.metadata);
  });
});
