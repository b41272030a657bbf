import type { Pod } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Look, Question } from "./look.ts";
import type { OwnProbe } from "./readiness.ts";
import { unschedulableSince } from "./trouble.ts";

/** What a look at an awake sandbox found, as far as only another version of it or of its Pod changes that. */
interface Known {
  readonly pod: Stored<Pod>;
  readonly allowLoopbackPodIp: boolean;
  readonly ip: string;
  readonly firstPort: number;
  readonly probes: readonly OwnProbe[];
  /** Wall time in milliseconds. */
  readonly youngUntilMs: number;
}

export type Found = Omit<Known, "pod" | "allowLoopbackPodIp">;

/** By the versions of sandboxes; a new version is another object. */
const known = new WeakMap<Stored<Sandbox>, Known>();

/**
 * What an earlier look found, where it must find the same: warm requests ask of the same two objects again and again, and
 * walking through both is most of what finding a sandbox costs. Undefined: look anew.
 */
export function knownLook(question: Question): Look | undefined {
  const { sandbox, pod, routed, firstUid, bonds, allowLoopbackPodIp, now } = question;
  const found = sandbox && known.get(sandbox);
  if (!found || found.pod !== pod || found.allowLoopbackPodIp !== allowLoopbackPodIp) return undefined;
  if (bonds.toldGeneration !== 0 || bonds.forsworn.size > 0 || routed.podIp !== undefined) return undefined;
  if (firstUid !== undefined && firstUid !== sandbox.metadata.uid) return undefined;
  const { ip, firstPort, probes, youngUntilMs } = found;
  const young = now.getTime() < youngUntilMs;
  const target = { podUid: pod.metadata.uid, ip, port: routed.port ?? firstPort, probes, young };
  return { is: "addressed", target, trouble: undefined };
}

/** Keeps what was found, unless time, the port or the address that was asked for has a part in it. */
export function keepLook({ sandbox, pod, routed, allowLoopbackPodIp }: Question, found: Found): void {
  if (!sandbox || !pod || sandbox.spec.shutdownTime || routed.podIp !== undefined) return;
  if (pod.spec?.hostNetwork || unschedulableSince(pod) !== undefined) return;
  known.set(sandbox, { ...found, pod, allowLoopbackPodIp });
}
