import type { SandboxWarmPoolSpec, SandboxWarmPoolStatus } from "../kinds/sandbox-warm-pool.ts";
import { effectivePoolReplicas } from "../rules/defaults.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { filled } from "./fields.ts";
import { withoutState } from "./state.ts";
import type { SandboxWarmPoolV1alpha1, Spoken } from "./v1alpha1.ts";

type SpokenPool = Spoken<SandboxWarmPoolSpec, SandboxWarmPoolStatus>;

const stateKey = v1alpha1StateAnnotations.SandboxWarmPool;

/** `replicas` is required in `v1alpha1`: if it is missing all the same, it means 0. Nothing is lost. */
export function poolToV1beta1({ spec, ...object }: SandboxWarmPoolV1alpha1): SpokenPool {
  return withoutState<SpokenPool>({ ...object, spec: { ...spec, replicas: spec?.replicas ?? 0 } }, stateKey);
}

export function poolToV1alpha1({ spec, status, ...object }: SpokenPool): SandboxWarmPoolV1alpha1 {
  const { observedGeneration: _notInThisVersion, ...sharedStatus } = status ?? {};
  const converted: SandboxWarmPoolV1alpha1 = {
    ...object,
    spec: { ...spec, replicas: effectivePoolReplicas(spec ?? {}) },
    ...filled("status", sharedStatus),
  };
  return withoutState(converted, stateKey);
}
