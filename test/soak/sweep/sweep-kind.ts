import type { SandboxSpec } from "../../../api/kinds/sandbox.ts";
import type { TestBed } from "../../sleep/test-bed.ts";
import type { Names } from "../names.ts";
import type { Rejections } from "./rejections.ts";

export const timeoutMs = 1_000;

/** What a case works with. Each case has a sandbox of its own, with the name of the case. */
export interface SweepWorld {
  readonly bed: TestBed;
  readonly names: Names;
  /** The certificate authority of the sandboxes' own TLS. */
  readonly authority: string;
  readonly rejections: Rejections;
}

/** How a case ended: rightly, in one of several ways that are counted, or with a failure. */
export interface Judged {
  readonly way?: string;
  readonly wrong?: string;
}

/** A case just before its moment. */
export interface Ready {
  /** When the sandbox was last used, by the monotonic clock. */
  readonly usedMs: number;
  /** Does once what the case is about. */
  readonly ask: () => Promise<Judged>;
}

/** One kind of use around the idle deadline. */
export interface SweepKind {
  readonly name: string;
  readonly spec?: Partial<SandboxSpec>;
  /** How many times the usual distance from the deadline. Absent: 1. */
  readonly spread?: number;
  /** It is sent on a connection that a suspension may end first. Then it need not be executed. */
  readonly isTunnel: boolean;
  /** Uses the sandbox of that name, and returns what comes then. */
  readonly prepare: (name: string, world: SweepWorld) => Promise<Ready>;
}

/** The activators of the sweep: one wakes the sandbox, the other is asked. */
export function activatorsOf({ bed }: SweepWorld) {
  const [first, second] = bed.activators;
  if (!first || !second) throw new Error("two activators were asked for");
  return { first, second };
}

/** The Pod that answered what was sent before the case. */
export function formerPodOf(name: string, { bed }: SweepWorld): string | undefined {
  return bed.node.ledger.of(beforeOf(name))[0]?.podUid;
}

/** The id of what is sent before the case. */
export const beforeOf = (name: string): string => `${name}-before`;

/** Whether the same Pod answered as before, or the next one. */
export function wayOf(name: string, world: SweepWorld): string {
  const executedBy = world.bed.node.ledger.of(name)[0]?.podUid;
  return executedBy === formerPodOf(name, world) ? "answered by the same Pod" : "answered by the next Pod";
}
