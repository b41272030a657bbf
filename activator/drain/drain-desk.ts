import type {
  ActivityAnswer,
  ActivityRequest,
  ListeningAnswer,
  ListeningRequest,
  ObservedAnswer,
  ObservedRequest,
  PromiseAnswer,
  PromiseRequest,
  SandboxIdentity,
} from "../../api/drain-protocol.ts";
import type { Activity } from "../activity/activity.ts";
import type { BondBook } from "../activity/bond-book.ts";

export interface DrainDeskParts {
  readonly activity: Activity;
  readonly bonds: BondBook;
  /** The generation of that sandbox that was seen last; 0 when none was. */
  readonly seenGeneration: (sandbox: SandboxIdentity) => number;
  /** Waits for its own view of the slices, no longer than the protocol says. */
  readonly listening: (request: ListeningRequest) => Promise<ListeningAnswer>;
}

/**
 * Answers the controller. An answer that binds is one synchronous step: what it binds and what it counts belong together.
 */
export class DrainDesk {
  readonly #parts: DrainDeskParts;

  constructor(parts: DrainDeskParts) {
    this.#parts = parts;
  }

  observed({ sandbox, podUid, generation }: ObservedRequest): ObservedAnswer {
    const { activity, bonds, seenGeneration } = this.#parts;
    const seen = seenGeneration(sandbox);
    bonds.told(sandbox.uid, generation, seen);
    const { waiting, sent, idleForMs } = activity.loadOf(sandbox.uid, podUid);
    return {
      inFlight: waiting + sent,
      ...(idleForMs !== undefined && { idleForMs }),
      ...(seen > generation && { superseded: true }),
    };
  }

  promise({ sandbox, podUid }: PromiseRequest): PromiseAnswer {
    const { activity, bonds } = this.#parts;
    bonds.forswear(sandbox.uid, podUid);
    const { sent, ignored } = activity.loadOf(sandbox.uid, podUid);
    return { inFlight: sent, ...(ignored > 0 && { ignored }) };
  }

  activity(request: ActivityRequest): ActivityAnswer {
    return this.#parts.activity.answer(request);
  }

  listening(request: ListeningRequest): Promise<ListeningAnswer> {
    return this.#parts.listening(request);
  }
}
