import {
  type ActivityAnswer,
  type ActivityRequest,
  drainPaths,
  type ObservedRequest,
  type PromiseRequest,
  parseActivityAnswer,
  parseObservedAnswer,
  parsePromiseAnswer,
} from "../../../api/between-programs/drain-protocol.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { abortable } from "../../../lib/process/lifecycle.ts";
import { SharedRead } from "../../../lib/queues/shared-read.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { notAnActivator, unreachable } from "../events.ts";
import type { SuspensionMetrics } from "../suspension-metrics.ts";
import type { Reply } from "./activator-replies.ts";
import type { Activator, ActivatorFinder } from "./activators.ts";
import { type DrainCall, DrainRefused } from "./drain-client.ts";
import { isLost, Silences } from "./silence.ts";

export interface AskActivatorsOptions {
  readonly finder: ActivatorFinder;
  readonly call: DrainCall;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: EventRecorder | undefined;
  readonly metrics: Pick<SuspensionMetrics, "unreachable">;
}

/** The activity of one activator, or why there is no answer. */
export type ActivityReply = ActivityAnswer | Exclude<Reply, { is: "answered" }>;

/** A lost activator is still asked, because it may come back; the round does not wait long for it. */
const callOfTheLostMs = 500;

/** One call to activators, and how to read the response; undefined: malformed. */
interface Question<A> {
  readonly path: string;
  readonly body: object;
  readonly read: (value: unknown) => A | undefined;
}

/** Asks activators, and records how long each has been silent. */
export class ActivatorRounds {
  readonly #options: AskActivatorsOptions;
  readonly #silences = new Silences();
  /** Activators whose last call got no answer. */
  readonly #silent = new Set<string>();
  /** UIDs of Pods with the labels of activators that are not activators, and were reported in an event. */
  readonly #otherPods = new Set<string>();
  /** Of all sandboxes that drain at the same time. It is not one asker's to end; the client limits it. */
  readonly #list: SharedRead<readonly Activator[]>;

  constructor(options: AskActivatorsOptions) {
    this.#options = options;
    const never = new AbortController().signal;
    this.#list = new SharedRead(() => options.finder.list(never));
  }

  /** Tells every activator of a suspension by inactivity. Rejects only when they cannot be listed. */
  observed(body: ObservedRequest, signal: AbortSignal): Promise<readonly Reply[]> {
    const read = (value: unknown): Reply | undefined => {
      const answer = parseObservedAnswer(value);
      if (!answer) return undefined;
      const { inFlight, idleForMs, superseded = false } = answer;
      return { is: "answered", inFlight, idleForMs, superseded };
    };
    return this.#askAll({ path: drainPaths.observed, body, read }, signal);
  }

  /** Has every activator fence a sealed Pod. Rejects only when they cannot be listed. */
  promises(body: PromiseRequest, signal: AbortSignal): Promise<readonly Reply[]> {
    const read = (value: unknown): Reply | undefined => {
      const answer = parsePromiseAnswer(value);
      return answer && { is: "answered", ...answer, idleForMs: undefined, superseded: false };
    };
    return this.#askAll({ path: drainPaths.promise, body, read }, signal);
  }

  /** Asks one activator for changed activity. */
  activity(activator: Activator, body: ActivityRequest, signal: AbortSignal): Promise<ActivityReply> {
    return this.#one<ActivityAnswer>(activator, { path: drainPaths.activity, body, read: parseActivityAnswer }, signal);
  }

  /** Whether its last call got no answer. */
  hasGoneSilent({ id }: Activator): boolean {
    return this.#silent.has(id);
  }

  /** Forgets all activators but these. */
  keep(activators: readonly Activator[]): void {
    const there = new Set(activators.map(({ id }) => id));
    this.#silences.keep(there);
    for (const id of this.#silent) if (!there.has(id)) this.#answers(id);
    this.#reportOtherPods();
  }

  /** Once for each such Pod, while it exists. */
  #reportOtherPods(): void {
    const { finder, events, log } = this.#options;
    const otherPods = finder.otherPods?.() ?? [];
    const there = new Set(otherPods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#otherPods) if (!there.has(uid)) this.#otherPods.delete(uid);
    for (const pod of otherPods) {
      const { uid, namespace, name } = pod.metadata;
      if (this.#otherPods.has(uid)) continue;
      this.#otherPods.add(uid);
      log.warn(
        { pod: `${namespace}/${name}` },
        "ignored a Pod with the labels of the activators, because it has another service account",
      );
      events?.record(notAnActivator(pod));
    }
  }

  #answers(id: string): void {
    if (this.#silent.delete(id)) this.#options.metrics.unreachable(this.#silent.size);
  }

  #isSilent({ id, pod }: Activator, err: unknown): void {
    const { log, events, metrics } = this.#options;
    if (this.#silent.has(id)) return;
    this.#silent.add(id);
    metrics.unreachable(this.#silent.size);
    log.warn(
      { err, activator: id },
      "an activator does not respond; asking it again. Until it responds, no sandbox is suspended for inactivity, within the limits of --activator-silence-limit",
    );
    if (pod) events?.record(unreachable(pod));
  }

  async #askAll(question: Question<Reply>, signal: AbortSignal): Promise<readonly Reply[]> {
    const activators = await abortable(this.#list.get(), signal);
    return Promise.all(activators.map((activator) => this.#one<Reply>(activator, question, signal)));
  }

  async #one<A>(
    activator: Activator,
    { path, body, read }: Question<A>,
    signal: AbortSignal,
  ): Promise<A | Exclude<Reply, { is: "answered" }>> {
    const { call, clock } = this.#options;
    const { id, address } = activator;
    const beganMs = clock.ticksMs();
    const limit = new AbortController();
    this.#silences.seen(activator, beganMs);
    const giveUp = () => limit.abort(new Error("no answer in time"));
    using _timer = isLost(this.#silences.of(id, beganMs)) ? clock.after(callOfTheLostMs, giveUp) : undefined;
    try {
      if (!address) throw new DrainRefused("it has no address");
      const answer = read(await call(address, path, body, AbortSignal.any([signal, limit.signal])));
      if (answer === undefined) throw new Error("the answer is not of the protocol");
      this.#silences.answered(id, beganMs);
      this.#answers(id);
      return answer;
    } catch (err) {
      signal.throwIfAborted();
      this.#silences.unanswered(id, beganMs);
      const silence = this.#silences.of(id, clock.ticksMs());
      const reply = err instanceof DrainRefused ? activator.whenRefused(silence) : undefined;
      if (reply?.is === "absent") {
        this.#silences.answered(id, beganMs);
        this.#answers(id);
        return reply;
      }
      this.#isSilent(activator, err);
      return { is: "silent", ...silence };
    }
  }
}
