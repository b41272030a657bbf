import type { ListeningPort } from "../../../api/between-programs/drain-protocol.ts";
import { type EndpointSlice, tcpFrontOf, usualQuarantineMs } from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock, Timer } from "../../../lib/time/clock.ts";
import type { NamespacePorts } from "./namespace-ports.ts";

type Slice = Stored<EndpointSlice>;

interface Former {
  /** The UID of its former sandbox. */
  readonly sandboxUid: string;
  readonly untilMs: number;
}

/**
 * Ports whose record was removed too early: a user deleted the slice or its namespace, perhaps without a leading controller. A
 * client may still hold an address with that port and would reach another tenant. Kept in memory, for slices that this replica
 * has seen.
 */
export class QuarantinedPorts implements Disposable {
  readonly #clock: Clock;
  readonly #former = new Map<number, Former>();
  readonly #ofNamespace: Pick<NamespacePorts, "add" | "remove">;
  readonly #onOver: (ports: readonly number[]) => void;
  /** One for all ports: a slice that is rewritten again and again must not leave one for each time. */
  #timer: Timer | undefined;

  /** `onOver` gets the ports whose quarantine is over. */
  constructor(
    clock: Clock,
    ofNamespace: Pick<NamespacePorts, "add" | "remove">,
    onOver: (ports: readonly number[]) => void,
  ) {
    this.#clock = clock;
    this.#ofNamespace = ofNamespace;
    this.#onOver = onOver;
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  /**
   * Quarantines the ports of a slice that it has lost: those that belonged to it and that its current content does not name.
   */
  note(previous: Slice, hasLost: (activatorPort: number) => boolean): void {
    const front = tcpFrontOf(previous);
    if (!front) return;
    const { sandboxUid } = front;
    const { namespace = "" } = previous.metadata;
    // A port that rests was never opened for this sandbox.
    const isLost = (activatorPort: number) => hasLost(activatorPort) && !this.rests({ activatorPort, sandboxUid });
    const nowMs = this.#clock.ticksMs();
    const freed = [...front.ports.map((port) => ({ freedAt: front.freedAt, ...port })), ...(front.freedPorts ?? [])];
    for (const { activatorPort, freedAt } of freed) {
      const leftMs = isLost(activatorPort) ? this.#leftMs(freedAt) : 0;
      if (leftMs <= 0) continue;
      this.#end(activatorPort);
      this.#former.set(activatorPort, { sandboxUid, untilMs: nowMs + leftMs });
      this.#ofNamespace.add("quarantined", activatorPort, namespace);
    }
    this.#await();
  }

  /** Whether a port must not stand for that sandbox yet. */
  rests({ activatorPort, sandboxUid }: ListeningPort): boolean {
    const former = this.#former.get(activatorPort);
    return former !== undefined && former.sandboxUid !== sandboxUid && former.untilMs > this.#clock.ticksMs();
  }

  /** Waits for the end that comes first. */
  #await(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#former.size === 0) return;
    const untilMs = this.#former
      .values()
      .reduce((least, former) => Math.min(least, former.untilMs), Number.POSITIVE_INFINITY);
    this.#timer = this.#clock.after(Math.max(0, untilMs - this.#clock.ticksMs()), () => {
      const over = this.#over();
      for (const port of over) this.#end(port);
      this.#await();
      this.#onOver(over);
    });
  }

  #over(): readonly number[] {
    const nowMs = this.#clock.ticksMs();
    return [...this.#former].filter(([, { untilMs }]) => untilMs <= nowMs).map(([port]) => port);
  }

  #end(port: number): void {
    this.#ofNamespace.remove("quarantined", port);
    this.#former.delete(port);
  }

  /** A clock that was set back must not keep a port forever. */
  #leftMs(freedAt: string | undefined): number {
    const now = this.#clock.now();
    const restedMs = now.getTime() - (readTime(freedAt) ?? now).getTime();
    return Math.min(usualQuarantineMs - restedMs, usualQuarantineMs);
  }
}
