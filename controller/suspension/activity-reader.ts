import type { SandboxActivity } from "../../api/drain-protocol.ts";
import type { Clock } from "../../lib/clock.ts";
import { abortable } from "../../lib/lifecycle.ts";
import type { Activator, ActivatorFinder } from "./activators.ts";
import type { ActivityView } from "./activity-view.ts";
import type { ActivatorRounds } from "./ask-activators.ts";

export interface ActivityReaderOptions {
  readonly finder: ActivatorFinder;
  readonly rounds: Pick<ActivatorRounds, "activity" | "keep">;
  readonly view: ActivityView;
  readonly clock: Clock;
  /** Hears what has changed, as each answer comes. */
  readonly onNews: (news: readonly SandboxActivity[]) => void;
}

/** An activator answers at once, or something is wrong with it. */
const patienceMs = 500;

/** Brings the view of what is used up to date, with one call at a time to each activator. */
export class ActivityReader {
  readonly #options: ActivityReaderOptions;
  /** Those that have not answered yet, by the activator's UID. */
  readonly #calls = new Map<string, Promise<void>>();

  constructor(options: ActivityReaderOptions) {
    this.#options = options;
  }

  /**
   * Asks every activator and waits for those that answer at once. One that hangs keeps nobody waiting: its answer is taken
   * when it comes, and until then it is not asked again.
   */
  async read(signal: AbortSignal): Promise<void> {
    const { finder, rounds, view, clock } = this.#options;
    const activators = finder.known();
    const ids = activators.map(({ id }) => id);
    view.listed(ids, clock.ticksMs());
    rounds.keep(activators);
    const asked = activators.filter(({ id }) => !this.#calls.has(id)).map((each) => this.#call(each, signal));
    if (asked.length === 0) return;
    const patience = new AbortController();
    const patient = clock.sleep(patienceMs, patience.signal).catch(() => {});
    await abortable(Promise.race([Promise.all(asked), patient]), signal);
    patience.abort();
  }

  /** Whether all that may carry something have told what they know now. */
  get isCurrent(): boolean {
    const { view, clock } = this.#options;
    return [...this.#calls.keys()].every((id) => view.isLost(id, clock.ticksMs()));
  }

  #call(activator: Activator, signal: AbortSignal): Promise<void> {
    const { id } = activator;
    const call = this.#ask(activator, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
      })
      .finally(() => {
        if (this.#calls.get(id) === call) this.#calls.delete(id);
      });
    this.#calls.set(id, call);
    return call;
  }

  async #ask(activator: Activator, signal: AbortSignal): Promise<void> {
    const { rounds, view, clock, onNews } = this.#options;
    const { id } = activator;
    const reply = await rounds.activity(activator, view.requestFor(id), signal);
    if ("epoch" in reply) {
      view.heard(id, reply, clock.ticksMs());
      onNews(reply.activities);
    } else if (reply.is === "absent") view.absent(id, clock.ticksMs());
  }
}
