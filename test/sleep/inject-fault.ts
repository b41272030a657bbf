import type { GateCall } from "./api-gate.ts";
import type { ControllerReplica } from "./controller-replica.ts";
import type { Phase } from "./phases.ts";
import type { TestBed } from "./test-bed.ts";

/** Injects a fault into the leader at this step of the suspension of a sandbox. Resolves when the fault starts. */
export function injectFault(
  bed: TestBed,
  { stage, is }: Phase,
  sandbox: string,
  fault: (leader: ControllerReplica) => Promise<void>,
): Promise<void> {
  const injected = Promise.withResolvers<void>();
  let isOver = false;
  for (const controller of bed.controllers) {
    const before: GateCall[] = [];
    controller.gate.keeper = async (call, at) => {
      const found = !isOver && at === stage && is(call, sandbox, before);
      before.push(call);
      if (!found) return;
      isOver = true;
      injected.resolve();
      await fault(controller);
    };
  }
  return injected.promise;
}
