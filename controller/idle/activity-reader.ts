import type { SandboxActivity } from "../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { piecesFromNow } from "../../lib/time/piece.ts";
import type { Activator, ActivatorFinder } from "../suspension/activators/activators.ts";
import type { ActivatorRounds } from "../suspension/activators/ask-activators.ts";
import type { FencedPods } from "../suspension/handshake/fenced-pods.ts";
import type { ActivityView } from "./activity-view.ts";
import { UnseenSandboxes } from "./unseen-sandboxes.ts";

export interface ActivityReaderOptions {
  /** The stores' state of a sandbox; undefined once it is gone. */
  readonly read: (key: string) => { readonly sandbox: Stored<Sandbox> } | undefined;
  readonly finder: ActivatorFinder;
  readonly rounds: Pick<ActivatorRounds, "activity" | "keep">;
  readonly view: ActivityView;
  readonly clock: Clock;
  /** Receives each change of each answer. */
  readonly onActivity: (activity: SandboxActivity) => void;
  readonly fencedPods: FencedPods;
}

/** An activator answers at once; a slower answer is a fault. */
const patienceMs = 500;

/** Updates the view of activity, with one call at a time to each activator. */
export class ActivityReader {
  readonly #options: ActivityReaderOptions;
  readonly #unseen: UnseenSandboxes;
  /** Calls without an answer so far, by the activator's UID. */
  readonly #calls = new Map<string, Promise<void>>();

  constructor(options: ActivityReaderOptions) {
    const { read, view } = options;
    this.#options = options;
    const exists = (key: string, uid: string) => read(key)?.sandbox.metadata.uid === uid;
    this.#unseen = new UnseenSandboxes(exists, (uid) => view.forget(uid));
  }

  /**
   * Asks every activator and waits for prompt answers. A hanging activator delays no other: its answer is used when it
   * arrives, and until then it is not asked again.
   */
  async read(signal: AbortSignal): Promise<void> {
    const { finder, rounds, view, clock, fencedPods } = this.#options;
    const activators = finder.known();
    fencedPods.keep(new Set(activators.map(({ id }) => id)));
    view.listed(activators, clock.ticksMs());
    this.#unseen.sweep(clock.ticksMs());
    rounds.keep(activators);
    const asked = activators.filter(({ id }) => !this.#calls.has(id)).map((each) => this.#call(each, signal));
    if (asked.length === 0) return;
    const patience = new AbortController();
    const patient = clock.sleep(patienceMs, patience.signal).catch(() => {});
    await abortable(Promise.race([Promise.all(asked), patient]), signal);
    patience.abort();
  }

  /** Whether all activators that may proxy requests have reported their current activity. */
  get isCurrent(): boolean {
    const { view, clock } = this.#options;
    return [...this.#calls.keys()].every((id) => view.countsNoMore(id, clock.ticksMs()));
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
    const { rounds, view, clock, fencedPods } = this.#options;
    const { id } = activator;
    const askedMs = clock.ticksMs();
    const reply = await rounds.activity(activator, view.requestFor(id), signal);
    if ("epoch" in reply) {
      view.received(id, reply, clock.ticksMs(), askedMs);
      fencedPods.heard(id, reply.fenced ?? []);
      await this.#take(reply.activities);
    } else if (reply.is === "absent") view.absent(id, clock.ticksMs(), askedMs);
  }

  /** In pieces: an activator that begins anew reports all sandboxes that it remembers. The view knows them already. */
  async #take(activities: readonly SandboxActivity[]): Promise<void> {
    const { clock, onActivity } = this.#options;
    const nowMs = clock.ticksMs();
    const rest = piecesFromNow(clock);
    for (const activity of activities) {
      this.#unseen.reported(activity.sandbox, nowMs);
      onActivity(activity);
      const resting = rest();
      if (resting) await resting;
    }
  }
}
