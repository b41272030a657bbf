import { effectivePoolReplicas } from "../defaults.ts";
import { v1alpha1StateAnnotations } from "../keys.ts";
import type { SandboxWarmPoolSpec, SandboxWarmPoolStatus } from "../sandbox-warm-pool.ts";
import { filled } from "./fields.ts";
import { withoutState, withState } from "./state.ts";
import type { SandboxWarmPoolV1alpha1, Spoken } from "./v1alpha1.ts";

type SpokenPool = Spoken<SandboxWarmPoolSpec, SandboxWarmPoolStatus>;

const stateKey = v1alpha1StateAnnotations.SandboxWarmPool;

/** `replicas` is a must in `v1alpha1`: where it is missing all the same, it means none. */
export function poolToV1beta1(source: SandboxWarmPoolV1alpha1): SpokenPool {
  const { spec, ...object } = source;
  const converted: SpokenPool = { ...object, spec: { ...spec, replicas: spec?.replicas ?? 0 } };
  return withState(converted, source, stateKey);
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
