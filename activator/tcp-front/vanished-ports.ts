import type { ListeningPort } from "../../api/drain-protocol.ts";
import type { Stored } from "../../api/meta.ts";
import { type EndpointSlice, olderFirst, tcpFrontOf, usualQuarantineMs } from "../../api/tcp-front.ts";
import type { Clock } from "../../lib/clock.ts";

type Slice = Stored<EndpointSlice>;

interface Former {
  /** Whose it was. */
  readonly sandboxUid: string;
  readonly untilMs: number;
}

/**
 * Ports whose record went before its time: somebody deleted the slice, or its namespace, perhaps while no controller led. A client
 * may still hold an address that leads there, and would meet another tenant. In memory, of what this replica has seen.
 */
export class VanishedPorts {
  readonly #clock: Clock;
  readonly #former = new Map<number, Former>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes what a slice said before, and who names a port now. Returns the ports that rest from now on. */
  note(previous: Slice, naming: (activatorPort: number) => readonly Slice[]): readonly number[] {
    const front = tcpFrontOf(previous);
    if (!front) return [];
    const { sandboxUid } = front;
    const isLost = (activatorPort: number) =>
      !naming(activatorPort).some((slice) => isOf(previous, slice) || olderFirst(slice, previous) < 0) &&
      // It was never opened for this one.
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

  /** Whether a port may not stand for that sandbox yet. */
  rests({ activatorPort, sandboxUid }: ListeningPort): boolean {
    const former = this.#former.get(activatorPort);
    return former !== undefined && former.sandboxUid !== sandboxUid && former.untilMs > this.#clock.ticksMs();
  }

  /** A clock that was set back must not keep a port for ever. */
  #leftMs(freedAt: string | undefined): number {
    const restedMs = freedAt === undefined ? 0 : this.#clock.now().getTime() - Date.parse(freedAt);
    return Math.min(usualQuarantineMs - restedMs, usualQuarantineMs);
  }
}

const isOf = ({ metadata: one }: Slice, { metadata: other }: Slice): boolean => one.uid === other.uid;
