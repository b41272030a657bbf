import { expired } from "../status-errors.ts";
import type { Commit } from "../storage/storage.ts";

export interface WatchHubLimits {
  /** The number of commits that a watch of one collection may lag. */
  readonly historyLength: number;
  /** What the objects in the commits of all collections may weigh together. Beyond that the largest history loses its older half. */
  readonly historyWeightMax: number;
}

interface Channel {
  /** Oldest first; every commit of the collection after `forgottenVersion`. */
  readonly history: Commit[];
  weight: number;
  forgottenVersion: number;
  readonly listeners: Set<(commit: Commit) => void>;
}

/** A commit keeps the object before the change too, which may be far larger, and in the memory of nothing else. */
const weightOf = ({ entry, previous }: Commit): number => entry.weight + (previous?.weight ?? 0);

/** Keeps the last commits of each collection and passes them to its watches. */
export class WatchHub {
  readonly #channels = new Map<string, Channel>();
  readonly #firstVersion: number;
  readonly #historyLength: number;
  readonly #historyWeightMax: number;
  #weight = 0;

  /** `version`: the store's version when this hub was created; earlier commits are unknown. */
  constructor(version: number, { historyLength, historyWeightMax }: WatchHubLimits) {
    this.#firstVersion = version;
    this.#historyLength = historyLength;
    this.#historyWeightMax = historyWeightMax;
  }

  publish(commit: Commit): void {
    const channel = this.#channel(commit.resource);
    channel.history.push(commit);
    this.#count(channel, weightOf(commit));
    // Removing in batches keeps a commit cheap: each removal from the start of an array moves the rest.
    if (channel.history.length > this.#historyLength * 2) {
      this.#forget(channel, channel.history.length - this.#historyLength);
    }
    while (this.#weight > this.#historyWeightMax) {
      const largest = this.#largest();
      this.#forget(largest, Math.ceil(largest.history.length / 2));
    }
    for (const listener of channel.listeners) listener(commit);
  }

  /**
   * Commits of a collection after `version`, oldest first.
   *
   * @throws StatusError 410 when some of them were removed.
   */
  since(resource: string, version: number): readonly Commit[] {
    const { history, forgottenVersion } = this.#channel(resource);
    if (version < forgottenVersion) {
      throw expired(`too old resource version: ${version} (${forgottenVersion})`);
    }
    return history.filter((commit) => commit.version > version);
  }

  /** Calls back for each later commit of a collection. */
  listen(resource: string, listener: (commit: Commit) => void): Disposable {
    const { listeners } = this.#channel(resource);
    listeners.add(listener);
    return { [Symbol.dispose]: () => void listeners.delete(listener) };
  }

  #count(channel: Channel, weight: number): void {
    channel.weight += weight;
    this.#weight += weight;
  }

  /** Drops the oldest commits. */
  #forget(channel: Channel, count: number): void {
    const dropped = channel.history.splice(0, count);
    channel.forgottenVersion = dropped.at(-1)?.version ?? channel.forgottenVersion;
    this.#count(channel, -dropped.reduce((sum, commit) => sum + weightOf(commit), 0));
  }

  #largest(): Channel {
    return [...this.#channels.values()].reduce((one, other) => (other.weight > one.weight ? other : one));
  }

  #channel(resource: string): Channel {
    let channel = this.#channels.get(resource);
    if (!channel) {
      channel = { history: [], weight: 0, forgottenVersion: this.#firstVersion, listeners: new Set() };
      this.#channels.set(resource, channel);
    }
    return channel;
  }
}
