import type { SandboxSpec } from "../../api/sandbox.ts";

export type Kind = "sleeper" | "countsOpen" | "neverSleeps" | "keptAwake" | "neverWoken";

/** What its history demands of a sandbox once nobody uses it any more. */
export type FinalState = "asleep" | "awake";

export interface Inhabitant {
  readonly name: string;
  readonly kind: Kind;
  readonly spec: Partial<SandboxSpec>;
  /** A person may suspend it. */
  readonly mayBePaused: boolean;
  final: FinalState;
}

const kinds: readonly Kind[] = [
  ...["sleeper", "sleeper", "sleeper", "sleeper", "sleeper", "sleeper"],
  ...["countsOpen", "neverSleeps", "keptAwake", "neverWoken"],
] as Kind[];

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

/** So many sandboxes, of every kind. */
export function populate(count: number): readonly Inhabitant[] {
  return Array.from({ length: count }, (_, index) => {
    const kind = kinds[index % kinds.length] ?? "sleeper";
    const sleeps = kind === "sleeper" || kind === "countsOpen" || kind === "neverWoken";
    return {
      name: `soak-${index}`,
      kind,
      spec: specOf(kind, index),
      mayBePaused: kind === "sleeper" || kind === "countsOpen",
      final: sleeps ? "asleep" : "awake",
    };
  });
}
