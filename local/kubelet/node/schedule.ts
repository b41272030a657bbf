import type { Container, Pod } from "../../../api/kinds/core.ts";

/** The scheduler's information about a Pod and the node. */
export interface SchedulingQuestion {
  readonly pod: Pod;
  readonly podsOnNode: number;
  readonly podsMax: number;
  /** Whether the machine has the program of this container. */
  readonly hasProgram: (container: Container) => boolean;
  readonly hasClaim: (claimName: string) => boolean;
}

export interface SchedulingRefusal {
  readonly reason: "SchedulingGated" | "Unschedulable";
  readonly message: string;
}

type Check = (question: SchedulingQuestion) => string | undefined;

/** Processes are cheap, but not free. A kubelet's default is 110, on a machine of its own. Pods that have ended do not count. */
export const podsPerNodeMax = 500;

/** The reason why the node does not fit this Pod. The first failed check is reported. */
const nodeChecks: readonly Check[] = [tooManyPods, missingClaim, missingCommand, missingProgram];

export function refusalToSchedule(question: SchedulingQuestion): SchedulingRefusal | undefined {
  if (question.pod.spec?.schedulingGates?.length) {
    return { reason: "SchedulingGated", message: "Scheduling is blocked due to non-empty scheduling gates" };
  }
  for (const check of nodeChecks) {
    const complaint = check(question);
    if (complaint) return { reason: "Unschedulable", message: `0/1 nodes are available: ${complaint}.` };
  }
  return undefined;
}

function tooManyPods({ podsOnNode, podsMax }: SchedulingQuestion): string | undefined {
  return podsOnNode >= podsMax ? "1 Too many pods" : undefined;
}

function missingClaim({ pod, hasClaim }: SchedulingQuestion): string | undefined {
  for (const { persistentVolumeClaim } of pod.spec?.volumes ?? []) {
    const name = persistentVolumeClaim?.claimName;
    if (name !== undefined && !hasClaim(name)) return `persistentvolumeclaim "${name}" not found`;
  }
  return undefined;
}

function missingCommand({ pod }: SchedulingQuestion): string | undefined {
  const without = allContainers(pod).find(({ command = [] }) => command.length === 0);
  if (!without) return undefined;
  return `container "${without.name}" has no command, and this node runs programs, not images`;
}

function missingProgram({ pod, hasProgram }: SchedulingQuestion): string | undefined {
  const without = allContainers(pod).find((container) => !hasProgram(container));
  if (!without) return undefined;
  return `1 node does not have the program "${without.command?.[0]}" (container "${without.name}")`;
}

function allContainers({ spec }: Pod): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}
