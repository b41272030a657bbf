import type {
  ActivityAnswer,
  ActivityRequest,
  BusyAnswer,
  BusyRequest,
  ListeningAnswer,
  ListeningRequest,
  ObservedAnswer,
  ObservedRequest,
  PromiseAnswer,
  PromiseRequest,
  SandboxIdentity,
} from "../../api/between-programs/drain-protocol.ts";
import type { Activity } from "../activity/activity.ts";
import type { PodFences } from "../activity/pod-fences.ts";

export interface DrainHandlersParts {
  readonly activity: Activity;
  readonly fences: PodFences;
  /** Closes the connections to a fenced Pod that do not keep it. */
  readonly closeOpen: (sandboxUid: string, podUid: string) => void;
  /** What open connections mean is up to date from now on, until the sandbox changes. */
  readonly settle: (sandboxUid: string) => void;
  /** The last generation of that sandbox in view; 0 if none was seen. */
  readonly seenGeneration: (sandbox: SandboxIdentity) => number;
  /** Waits for this replica's view of the slices, within the limit of the protocol. */
  readonly listening: (request: ListeningRequest) => Promise<ListeningAnswer>;
  /** Probes a workload, within the limit of the protocol. */
  readonly busy: (request: BusyRequest) => Promise<BusyAnswer>;
}

/** Answers the controller. A promise and its counts are read in one synchronous step, because they belong together. */
export class DrainHandlers {
  readonly #parts: DrainHandlersParts;

  constructor(parts: DrainHandlersParts) {
    this.#parts = parts;
  }

  observed({ sandbox, podUid, generation }: ObservedRequest): ObservedAnswer {
    const { activity, fences, seenGeneration, settle } = this.#parts;
    const seen = seenGeneration(sandbox);
    settle(sandbox.uid);
    fences.reported(sandbox.uid, generation, seen);
    if (seen <= generation) activity.observed(sandbox.uid, generation);
    const { waiting, sent, idleForMs } = activity.loadOf(sandbox.uid, podUid);
    return {
      inFlight: waiting + sent,
      ...(idleForMs !== undefined && { idleForMs }),
      ...(seen > generation && { superseded: true }),
    };
  }

  promise({ sandbox, podUid }: PromiseRequest): PromiseAnswer {
    const { activity, fences, closeOpen, settle } = this.#parts;
    settle(sandbox.uid);
    fences.fence(sandbox.uid, podUid);
    closeOpen(sandbox.uid, podUid);
    const { sent, ignored } = activity.loadOf(sandbox.uid, podUid);
    return { inFlight: sent, ...(ignored > 0 && { ignored }) };
  }

  activity(request: ActivityRequest): ActivityAnswer {
    const { activity, fences } = this.#parts;
    const fenced = fences.pods;
    return { ...activity.answer(request), ...(fenced.length > 0 && { fenced }) };
  }

  listening(request: ListeningRequest): Promise<ListeningAnswer> {
    return this.#parts.listening(request);
  }

  busy(request: BusyRequest): Promise<BusyAnswer> {
    return this.#parts.busy(request);
  }
}
