import { usesTcpFront } from "../../api/between-programs/tcp-front.ts";
import type { SandboxSpec } from "../../api/kinds/sandbox.ts";
import { rawPort } from "../sleep/raw-workload.ts";
import { workloadPort } from "../sleep/workload.ts";

export type Kind = "sleeper" | "countsOpen" | "neverSleeps" | "keptAwake" | "neverWoken";

/** The state of a sandbox once all traffic has ended. */
export type FinalState = "asleep" | "awake";

export interface SoakSandbox {
  readonly name: string;
  readonly kind: Kind;
  readonly spec: Partial<SandboxSpec>;
  /** A person may suspend it. */
  readonly mayBePaused: boolean;
  /** When a person last suspended it, by the monotonic clock. */
  pausedMs: number;
  readonly final: FinalState;
}

const kinds: readonly Kind[] = [
  ...["sleeper", "sleeper", "sleeper", "sleeper", "sleeper", "sleeper"],
  ...["countsOpen", "neverSleeps", "keptAwake", "neverWoken"],
] as Kind[];

/** Both ports can be reached by the Service's name, if the sandbox uses autoSuspension or autoResume. */
const podTemplate = {
  spec: {
    containers: [
      { name: "main", image: "workload", ports: [{ containerPort: workloadPort }, { containerPort: rawPort }] },
    ],
    nodeName: "bed",
  },
};

const far = "2099-01-01T00:00:00Z";

function specOf(kind: Kind, index: number): Partial<SandboxSpec> {
  const inactivityTimeoutSeconds = 1 + (index % 3);
  const autoSuspension = { inactivityTimeoutSeconds, drainTimeoutSeconds: 10 };
  switch (kind) {
    case "sleeper":
      return { autoSuspension };
    case "countsOpen":
      return { autoSuspension: { ...autoSuspension, openConnections: "Count" } };
    case "neverSleeps":
      return {};
    case "keptAwake":
      return { autoSuspension: { ...autoSuspension, keepAwakeUntil: far } };
    case "neverWoken":
      return { autoSuspension, autoResume: { trigger: "Never" } };
  }
}

/** Whether the name of its Service leads to the activators. */
export const isReachedByName = ({ spec }: SoakSandbox): boolean => usesTcpFront(spec);

/** `count` sandboxes, of every kind. */
export function makeSoakSandboxes(count: number): readonly SoakSandbox[] {
  return Array.from({ length: count }, (_, index) => {
    const kind = kinds[index % kinds.length] ?? "sleeper";
    const sleeps = kind === "sleeper" || kind === "countsOpen" || kind === "neverWoken";
    return {
      name: `soak-${index}`,
      kind,
      spec: { ...specOf(kind, index), podTemplate, service: true },
      mayBePaused: kind === "sleeper" || kind === "countsOpen",
      pausedMs: Number.NEGATIVE_INFINITY,
      final: sleeps ? "asleep" : "awake",
    };
  });
}
