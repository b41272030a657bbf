import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { createdMs } from "../../../api/rules/timestamps.ts";
import { isReady } from "../members.ts";
import type { Observed } from "../observed.ts";

/** The maximum grace after repeated replacements: the cause may have been fixed by then. */
const longestMs = 3_600_000;

/**
 * How long a pool's members may take to become ready. Each time that members had to be replaced, those in their place may
 * take twice as long, so that a pool whose Pods are refused does not make and delete sandboxes, and their volumes, without
 * end. A member that becomes ready, or a changed template, ends that.
 *
 * Moments are creation times of members, by the API server's clock.
 */
export class ReadinessPatience {
  readonly #baseMs: number;
  #template: string | undefined;
  #failures = 0;
  /** When the newest member was made that was there at the last failure. */
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(baseMs: number) {
    this.#baseMs = baseMs;
  }

  /** How many times in a row members were replaced because they did not become ready. */
  get failures(): number {
    return this.#failures;
  }

  /** Of members that are made now, in milliseconds since a member was first seen. */
  get graceMs(): number {
    return this.#graceMsAfter(this.#failures);
  }

  /** A member that was there at the last failure has the time from before it: it may belong to a later batch. */
  graceMsOf(member: Stored<Sandbox>): number {
    return this.#graceMsAfter(createdMs(member) > this.#failedMs ? this.#failures : Math.max(this.#failures - 1, 0));
  }

  /** Another template, or another version of it, deserves another try. */
  madeFrom(template: Observed["template"]): void {
    const { uid, generation } = template?.object.metadata ?? {};
    const version = template && `${uid}/${generation}`;
    if (version === this.#template) return;
    this.#template = version;
    this.#failures = 0;
  }

  /** Records the ready and replaced members of a pass. Members that were created before the last failure have no effect. */
  note(active: readonly Stored<Sandbox>[], replaced: readonly Stored<Sandbox>[]): void {
    const isNew = (member: Stored<Sandbox>) => createdMs(member) > this.#failedMs;
    if (active.some((member) => isReady(member) && isNew(member))) this.#failures = 0;
    if (!replaced.some(isNew)) return;
    this.#failures += 1;
    this.#failedMs = [...active, ...replaced].reduce((latest, member) => Math.max(latest, createdMs(member)), 0);
  }

  #graceMsAfter(failures: number): number {
    return Math.min(this.#baseMs * 2 ** failures, Math.max(this.#baseMs, longestMs));
  }
}
