import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { WakeReport } from "../../../api/protocols/drain-protocol.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import { woken } from "../events.ts";
import type { SuspensionMetrics } from "../suspension-metrics.ts";

export interface WakeReportsOptions {
  readonly read: (key: string) => { readonly sandbox: Sandbox } | undefined;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
}

/** Whoever led before has surely told of what is older than that. */
const recentMs = 60_000;

/**
 * Tells of each wake once, although activators report the last one for as long as they remember it. A wake just before
 * another controller took over may be told by both, rather than by neither.
 */
export class WakeReports {
  readonly #options: WakeReportsOptions;
  /** The generation that the last wake of each sandbox made, by UID. */
  readonly #known = new Map<string, number>();

  constructor(options: WakeReportsOptions) {
    this.#options = options;
  }

  reported(key: string, sandboxUid: string, { generation, port, agoMs }: WakeReport): void {
    const { read, events, metrics } = this.#options;
    const sandbox = read(key)?.sandbox;
    if (sandbox?.metadata.uid !== sandboxUid || (this.#known.get(sandboxUid) ?? 0) >= generation) return;
    this.#known.set(sandboxUid, generation);
    if (agoMs > recentMs) return;
    metrics.woken();
    events?.record(woken(sandbox, port));
  }

  forget(sandboxUid: string): void {
    this.#known.delete(sandboxUid);
  }
}
