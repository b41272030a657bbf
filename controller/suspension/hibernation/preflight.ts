import type { Pod } from "../../../api/kinds/pod.ts";
import type { SandboxSpec } from "../../../api/kinds/sandbox.ts";
import type { AskedPod, MemoryProvider, MemoryRefusal } from "./memory-provider.ts";
import { refusalsOfSpec } from "./pod-rules.ts";

/**
 * Why the memory of a sandbox cannot be kept; undefined: it can. Without a Pod, the answer is for the Pod that its template
 * describes: then the answer about a Pod that has just gone needs no record of it.
 */
export function preflight(
  { podTemplate }: Pick<SandboxSpec, "podTemplate">,
  pod: Pod | undefined,
  provider: MemoryProvider,
): MemoryRefusal | undefined {
  const asked: AskedPod = pod ?? { spec: podTemplate.spec };
  const refusals = [...(asked.spec ? refusalsOfSpec(asked.spec) : []), provider.preflight(asked)];
  const all = refusals.filter((refusal) => refusal !== undefined);
  // What the owner can change comes first. The message has the rest too: who mends one thing should not then meet the next.
  return all[0] && { reason: all[0].reason, message: all.map(({ message }) => message).join("; ") };
}
