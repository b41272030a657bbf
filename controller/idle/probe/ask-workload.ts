import { busyProbeMs } from "../../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { busyTargetOf } from "../../../api/rules/busy-target.ts";
import { type Fences, mayForward } from "../../../api/rules/suspension.ts";
import { askStatus } from "../../../lib/net/ask-status.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { AskThroughActivators } from "../../suspension/activators/ask-through-activators.ts";
import type { ProbeAnswer } from "./busy-probe.ts";

/** Puts the busy probe of a sandbox to the workload in its Pod. Rejects only once the signal is aborted. */
export type AskWorkload = (
  about: { readonly sandbox: Stored<Sandbox>; readonly pod: Stored<Pod> },
  signal: AbortSignal,
) => Promise<ProbeAnswer>;

/** The controller has promised nothing; it reads the fence from the seal on the Sandbox. */
const unbound: Fences = { reportedGeneration: 0, fenced: new Set() };

/**
 * Asks through the activators, which every sandbox admits that can be used at all, and then directly: activators of an older release
 * cannot ask, and a NetworkPolicy may admit them at other ports than the probe's. Undefined `through`: only directly.
 */
export function workloadAsker(through: AskThroughActivators | undefined, clock: Clock): AskWorkload {
  return async ({ sandbox, pod }, signal) => {
    const target = busyTargetOf(sandbox, pod);
    if (!target || !mayForward(sandbox, pod.metadata.uid, unbound)) return undefined;
    const { namespace = "", name, uid, generation = 0 } = sandbox.metadata;
    const question = { sandbox: { namespace, name, uid }, podUid: pod.metadata.uid, generation };
    const asked = await through?.ask(question, signal);
    if (asked?.is === "answered") return asked.status;
    return asked?.is === "fenced" ? undefined : askStatus(target, { clock, limitMs: busyProbeMs, signal });
  };
}
