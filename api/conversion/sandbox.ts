import type { SandboxSpec, SandboxStatus } from "../kinds/sandbox.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { filled } from "./fields.ts";
import { readState, type State, UnreadableState, withoutState, withState } from "./state.ts";
import type { SandboxV1alpha1, Spoken } from "./v1alpha1.ts";

type SpokenSandbox = Spoken<SandboxSpec, SandboxStatus>;

const stateKey = v1alpha1StateAnnotations.Sandbox;

/**
 * `replicas: 0` is `Suspended`, anything else `Running`. Fields that only `v1alpha1` has are kept in the state
 * annotation.
 */
export function sandboxToV1beta1(source: SandboxV1alpha1, ignored: string[]): SpokenSandbox {
  const { spec, status, ...object } = source;
  const { replicas, ...shared } = spec ?? {};
  const { replicas: observed, ...sharedStatus } = status ?? {};
  const converted: SpokenSandbox = {
    ...object,
    spec: { ...shared, operatingMode: replicas === 0 ? "Suspended" : "Running" },
    ...filled("status", sharedStatus),
  };
  const remainder = { ...filled("spec", counted(replicas)), ...filled("status", counted(observed)) };
  return withState(converted, remainder, stateKey, ignored);
}

/** A state that cannot be parsed counts as absent and is added to `ignored`. */
export function sandboxToV1alpha1(source: SpokenSandbox, ignored: string[]): SandboxV1alpha1 {
  const { spec, status, ...object } = source;
  const { operatingMode, ...shared } = spec ?? {};
  const { nodeName: _node, ...sharedStatus } = status ?? {};
  const written = readState(source, stateKey, replicasIn, ignored);
  const replicas = operatingMode === "Running" && written ? asWritten(written.asked) : replicasOf(operatingMode);
  const observed = written ? written.observed : replicasOf(operatingMode);
  const converted: SandboxV1alpha1 = {
    ...object,
    spec: { ...shared, ...(replicas !== undefined && { replicas }) },
    ...filled("status", { ...sharedStatus, ...(observed !== undefined && { replicas: observed }) }),
  };
  return withoutState(converted, stateKey);
}

const counted = (replicas: number | undefined) => (replicas === undefined ? {} : { replicas });

const replicasOf = (operatingMode: SandboxSpec["operatingMode"]): number => (operatingMode === "Suspended" ? 0 : 1);

/** The original value is kept, also its absence, unless the sandbox has been resumed since. */
const asWritten = (asked: number | undefined): number | undefined => (asked === 0 ? 1 : asked);

interface WrittenReplicas {
  readonly asked: number | undefined;
  readonly observed: number | undefined;
}

const int32Max = 2 ** 31 - 1;

const replicasIn = ({ spec, status }: State): WrittenReplicas => ({
  asked: numberIn(spec["replicas"]),
  observed: numberIn(status["replicas"]),
});

function numberIn(replicas: unknown): number | undefined {
  if (replicas === undefined || replicas === null) return undefined;
  if (typeof replicas === "number" && Number.isInteger(replicas) && replicas >= 0 && replicas <= int32Max)
    return replicas;
  throw new UnreadableState("its replicas are not an integer from 0 to 2147483647");
}
