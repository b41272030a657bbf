import type { WakeReport } from "../../api/between-programs/drain-protocol.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { SuspensionMetrics } from "../suspension/suspension-metrics.ts";
import { woken } from "./idle-events.ts";

export interface WakeReportsOptions {
  readonly read: (key: string) => { readonly sandbox: Sandbox } | undefined;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
  readonly clock: Clock;
}

/** The former leader has reported wakes that are this much older than the lead of this controller. */
const recentMs = 60_000;

/**
 * Reports each wake once, although activators report the last one for as long as they remember it. A wake just before
 * another controller took over may be reported by both, rather than by neither.
 */
export class WakeReports {
  readonly #options: WakeReportsOptions;
  readonly #sinceMs: number;
  /** The generation that the last wake of each sandbox made, by UID. */
  readonly #known = new Map<string, number>();

  constructor(options: WakeReportsOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.ticksMs();
  }

  reported(key: string, sandboxUid: string, { generation, port, agoMs }: WakeReport): void {
    const { read, events, metrics, clock } = this.#options;
    const sandbox = read(key)?.sandbox;
    if (sandbox?.metadata.uid !== sandboxUid || (this.#known.get(sandboxUid) ?? 0) >= generation) return;
    this.#known.set(sandboxUid, generation);
    // An activator that did not respond for a while reports its wakes late.
    if (agoMs > recentMs + clock.ticksMs() - this.#sinceMs) return;
    metrics.woken();
    events?.record(woken(sandbox, port));
  }

  forget(sandboxUid: string): void {
    this.#known.delete(sandboxUid);
  }
}
