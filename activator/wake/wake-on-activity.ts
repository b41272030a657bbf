import type { Stored } from "../../api/kinds/meta.ts";
import { effectiveAutoResume, effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { mayAskToRun } from "../../api/rules/suspension.ts";
import type { Logger } from "../../lib/log/log.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import type { PodFences } from "../activity/pod-fences.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { Waker } from "./waker.ts";

export interface WakeOnActivityParts {
  readonly cluster: Pick<Cluster, "sandbox" | "listen">;
  readonly fences: PodFences;
  readonly waker: Pick<Waker, "wake">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onWoken: (sandbox: Stored<SlimSandbox>, port: number) => void;
}

export interface ActiveConnection {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** The limit of an attempt, in milliseconds. By then the suspension is cancelled, or the connection is closed. */
const longestMs = 10_000;

/**
 * Cancels a pending inactivity suspension when data arrives on an open connection. A running sandbox costs one lookup; a manual
 * suspension proceeds.
 */
export class WakeOnActivity implements AsyncDisposable {
  readonly #parts: WakeOnActivityParts;
  readonly #stop = new AbortController();
  readonly #asking = new Map<string, Promise<void>>();
  /** Limits log lines: each message on an open connection may start an attempt. */
  readonly #mayLog: OncePerMinute;

  constructor(parts: WakeOnActivityParts) {
    this.#parts = parts;
    this.#mayLog = new OncePerMinute(parts.clock);
  }

  moved(connection: ActiveConnection): void {
    const sandbox = this.#parts.cluster.sandbox(connection.namespace, connection.name);
    if (!sandbox || this.#asking.has(sandbox.metadata.uid) || this.#stop.signal.aborted) return;
    if (!this.#isFallingAsleep(sandbox)) return;
    const { uid } = sandbox.metadata;
    const asked = this.#ask(connection, uid)
      .catch((err: unknown) => {
        if (this.#stop.signal.aborted || !this.#mayLog.asks(uid)) return;
        this.#parts.log.warn(
          { err, ...connection },
          "could not cancel a suspension after data on an open connection; trying again at the next data",
        );
      })
      .finally(() => this.#asking.delete(uid));
    this.#asking.set(uid, asked);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the activator is shutting down"));
    await Promise.all(this.#asking.values());
  }

  async #ask({ namespace, name, port }: ActiveConnection, uid: string): Promise<void> {
    const { cluster, clock, waker, onWoken } = this.#parts;
    const over = new AbortController();
    using _limit = clock.after(longestMs, () =>
      over.abort(new Error(`the sandbox was not resumed within ${longestMs} ms`)),
    );
    const signal = AbortSignal.any([this.#stop.signal, over.signal]);
    using changes = cluster.listen(namespace, name);
    for (;;) {
      changes.reset();
      const seen = cluster.sandbox(namespace, name);
      if (seen?.metadata.uid !== uid || !this.#isFallingAsleep(seen)) return;
      if (mayAskToRun(seen)) {
        const { answer, patchedMs } = await waker.wake(seen, signal);
        if (answer) onWoken(answer, port);
        // Another client may have changed the sandbox first: to no suspension, or to another one.
        if (patchedMs !== undefined) return;
      } else if (effectiveOperatingMode(seen.spec) === "Suspended") return;
      await abortable(changes.next(), signal);
    }
  }

  /** Whether it is suspended, in our view or by the controller's word. */
  #isFallingAsleep({ metadata, spec }: Stored<SlimSandbox>): boolean {
    if (effectiveAutoResume(spec).trigger === "Never") return false;
    const isReported = this.#parts.fences.of(metadata.uid).reportedGeneration > (metadata.generation ?? 0);
    return isReported || effectiveOperatingMode(spec) === "Suspended";
  }
}
