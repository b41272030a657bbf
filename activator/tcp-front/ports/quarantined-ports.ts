import type { Stored } from "../../../api/kinds/meta.ts";
import type { ListeningPort } from "../../../api/protocols/drain-protocol.ts";
import { type EndpointSlice, tcpFrontOf, usualQuarantineMs } from "../../../api/protocols/tcp-front.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import type { Clock } from "../../../lib/time/clock.ts";
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
export class QuarantinedPorts {
  readonly #clock: Clock;
  readonly #former = new Map<number, Former>();
  readonly #ofNamespace: Pick<NamespacePorts, "add" | "remove">;

  constructor(clock: Clock, ofNamespace: Pick<NamespacePorts, "add" | "remove">) {
    this.#clock = clock;
    this.#ofNamespace = ofNamespace;
  }

  /**
   * Quarantines the ports of a slice that it has lost: those that belonged to it and that its current content does not name.
   * Returns the newly quarantined ones.
   */
  note(previous: Slice, hasLost: (activatorPort: number) => boolean): readonly number[] {
    const front = tcpFrontOf(previous);
    if (!front) return [];
    const { sandboxUid } = front;
    const { namespace = "" } = previous.metadata;
    // A port that rests was never opened for this sandbox.
    const isLost = (activatorPort: number) => hasLost(activatorPort) && !this.rests({ activatorPort, sandboxUid });
    const nowMs = this.#clock.ticksMs();
    this.endWhatIsOver();
    const freed = [...front.ports.map((port) => ({ freedAt: front.freedAt, ...port })), ...(front.freedPorts ?? [])];
    return freed.flatMap(({ activatorPort, freedAt }) => {
      const leftMs = isLost(activatorPort) ? this.#leftMs(freedAt) : 0;
      if (leftMs <= 0) return [];
      this.#end(activatorPort);
      this.#former.set(activatorPort, { sandboxUid, untilMs: nowMs + leftMs });
      this.#ofNamespace.add("quarantined", activatorPort, namespace);
      return [activatorPort];
    });
  }

  /** Whether a port must not stand for that sandbox yet. */
  rests({ activatorPort, sandboxUid }: ListeningPort): boolean {
    const former = this.#former.get(activatorPort);
    return former !== undefined && former.sandboxUid !== sandboxUid && former.untilMs > this.#clock.ticksMs();
  }

  /** Counts the ports no more whose quarantine is over. */
  endWhatIsOver(): void {
    const nowMs = this.#clock.ticksMs();
    for (const [port, { untilMs }] of this.#former) if (untilMs <= nowMs) this.#end(port);
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
