import type { Stored } from "../../api/kinds/meta.ts";
import type { ListeningPort } from "../../api/protocols/drain-protocol.ts";
import { type EndpointSlice, olderFirst, tcpFrontOf, usualQuarantineMs } from "../../api/protocols/tcp-front.ts";
import type { Clock } from "../../lib/time/clock.ts";

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

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Compares the former ports of a slice with the sandboxes that have them now. Returns the newly quarantined ports. */
  note(previous: Slice, naming: (activatorPort: number) => readonly Slice[]): readonly number[] {
    const front = tcpFrontOf(previous);
    if (!front) return [];
    const { sandboxUid } = front;
    const isLost = (activatorPort: number) =>
      !naming(activatorPort).some((slice) => isOf(previous, slice) || olderFirst(slice, previous) < 0) &&
      // It was never opened for this sandbox.
      !this.rests({ activatorPort, sandboxUid });
    const nowMs = this.#clock.ticksMs();
    for (const [port, { untilMs }] of this.#former) if (untilMs <= nowMs) this.#former.delete(port);
    const freed = [...front.ports.map((port) => ({ freedAt: front.freedAt, ...port })), ...(front.freedPorts ?? [])];
    return freed.flatMap(({ activatorPort, freedAt }) => {
      const leftMs = isLost(activatorPort) ? this.#leftMs(freedAt) : 0;
      if (leftMs <= 0) return [];
      this.#former.set(activatorPort, { sandboxUid, untilMs: nowMs + leftMs });
      return [activatorPort];
    });
  }

  /** Whether a port must not stand for that sandbox yet. */
  rests({ activatorPort, sandboxUid }: ListeningPort): boolean {
    const former = this.#former.get(activatorPort);
    return former !== undefined && former.sandboxUid !== sandboxUid && former.untilMs > this.#clock.ticksMs();
  }

  /** A clock that was set back must not keep a port forever. */
  #leftMs(freedAt: string | undefined): number {
    const restedMs = freedAt === undefined ? 0 : this.#clock.now().getTime() - Date.parse(freedAt);
    return Math.min(usualQuarantineMs - restedMs, usualQuarantineMs);
  }
}

const isOf = ({ metadata: one }: Slice, { metadata: other }: Slice): boolean => one.uid === other.uid;
