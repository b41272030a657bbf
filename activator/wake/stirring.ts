import { effectiveAutoResume, effectiveOperatingMode } from "../../api/defaults.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { mayAskToRun } from "../../api/suspension.ts";
import type { Clock } from "../../lib/clock.ts";
import { abortable } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import type { BondBook } from "../activity/bond-book.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { Waker } from "./waker.ts";

export interface StirringParts {
  readonly cluster: Pick<Cluster, "sandbox" | "listen">;
  readonly bonds: BondBook;
  readonly waker: Pick<Waker, "wake">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onWoken: (sandbox: Stored<Sandbox>, port: number) => void;
}

export interface Stirred {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** By then the suspension is called off, or the connection is closed. */
const longestMs = 10_000;

/**
 * Asks a sandbox to run because something moved on a connection that is open to it, while it is about to sleep. One that
 * is awake costs a look; a suspension that a person wrote is carried out.
 */
export class Stirring implements AsyncDisposable {
  readonly #parts: StirringParts;
  readonly #stop = new AbortController();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(parts: StirringParts) {
    this.#parts = parts;
  }

  moved(stirred: Stirred): void {
    const sandbox = this.#parts.cluster.sandbox(stirred.namespace, stirred.name);
    if (!sandbox || this.#asking.has(sandbox.metadata.uid) || this.#stop.signal.aborted) return;
    if (!this.#isFallingAsleep(sandbox)) return;
    const { uid } = sandbox.metadata;
    const asked = this.#ask(stirred, uid)
      .catch((err: unknown) => {
        if (!this.#stop.signal.aborted) this.#parts.log.warn({ err, ...stirred }, "a sandbox in use was not woken");
      })
      .finally(() => this.#asking.delete(uid));
    this.#asking.set(uid, asked);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the activator is stopping"));
    await Promise.all(this.#asking.values());
  }

  async #ask({ namespace, name, port }: Stirred, uid: string): Promise<void> {
    const { cluster, clock, waker, onWoken } = this.#parts;
    const over = new AbortController();
    using _limit = clock.after(longestMs, () => over.abort(new Error("nothing came of it in time")));
    const signal = AbortSignal.any([this.#stop.signal, over.signal]);
    using bell = cluster.listen(namespace, name);
    for (;;) {
      bell.reset();
      const seen = cluster.sandbox(namespace, name);
      if (seen?.metadata.uid !== uid || !this.#isFallingAsleep(seen)) return;
      if (mayAskToRun(seen)) {
        const { mine, answer } = await waker.wake(seen, signal);
        if (mine && answer) onWoken(answer, port);
        // Somebody may have changed it first, to something that is no suspension, or is one again.
        if (answer) return;
      } else if (effectiveOperatingMode(seen.spec) === "Suspended") return;
      await abortable(bell.next(), signal);
    }
  }

  /** It is suspended, or we were told that it is. */
  #isFallingAsleep({ metadata, spec }: Stored<Sandbox>): boolean {
    if (effectiveAutoResume(spec).trigger === "Never") return false;
    const told = this.#parts.bonds.of(metadata.uid).toldGeneration > (metadata.generation ?? 0);
    return told || effectiveOperatingMode(spec) === "Suspended";
  }
}
