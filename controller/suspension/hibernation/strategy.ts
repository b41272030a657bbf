import type { Sandbox, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { effectiveSuspensionStrategy } from "../../../api/rules/defaults.ts";
import type { MemoryRefusal } from "./memory-provider.ts";

export const isToHibernate = (spec: Pick<SandboxSpec, "suspensionStrategy">): boolean =>
  effectiveSuspensionStrategy(spec).type === "Hibernate";

/** Why a sandbox is not to be suspended for inactivity; undefined: it may be. A person's suspension is never refused. */
export const refusalToSleep = (
  { spec }: Pick<Sandbox, "spec">,
  refusal: MemoryRefusal | undefined,
): MemoryRefusal | undefined => (effectiveSuspensionStrategy(spec).onFailure === "StayAwake" ? refusal : undefined);
