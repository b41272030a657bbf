import type { GateCall } from "./api-gate.ts";
import type { ControllerReplica } from "./controller-replica.ts";
import type { Phase } from "./phases.ts";
import type { TestBed } from "./test-bed.ts";

/** Has the leader meet a fault at that moment of the suspension of a sandbox; resolves once it has begun. */
export function strike(
  bed: TestBed,
  { stage, is }: Phase,
  sandbox: string,
  fault: (leader: ControllerReplica) => Promise<void>,
): Promise<void> {
  const struck = Promise.withResolvers<void>();
  let isOver = false;
  for (const controller of bed.controllers) {
    const before: GateCall[] = [];
    controller.gate.keeper = async (call, at) => {
      const found = !isOver && at === stage && is(call, sandbox, before);
      before.push(call);
      if (!found) return;
      isOver = true;
      struck.resolve();
      await fault(controller);
    };
  }
  return struck.promise;
}
