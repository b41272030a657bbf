import type { FencedPod, SandboxIdentity } from "../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Fences, sealOf } from "../../api/rules/suspension.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";

/** Of the Pods of a sandbox that are not in view: the number of seals kept, and the number of promises to the controller kept. */
const unseenPodsMax = 8;
/** The number of deleted sandboxes remembered: the controller may ask about a sandbox whose deletion it has not seen yet. */
const deletedSandboxesMax = 4_096;

interface Entry {
  /** Undefined until the sandbox is seen. */
  sandbox: SandboxIdentity | undefined;
  reportedGeneration: number;
  /** In order of arrival. */
  readonly fenced: Set<string>;
  /** The Pods of `fenced` that the controller asked to fence. Seals, which others may write, take no room from these. */
  readonly promised: Set<string>;
  /** The Pod that was last seen gone: a seal that still names it has no effect. */
  gonePodUid: string | undefined;
}

export interface PodFencesParts {
  /** Called once for each fenced Pod, in the same synchronous step. */
  readonly onFenced: (sandboxUid: string, podUid: string) => void;
  /** Whether that Pod of that sandbox is in view now. `podGone` is called when it leaves the view. */
  readonly hasPod: (sandboxUid: string, podUid: string) => boolean;
}

const unbound: Fences = { reportedGeneration: 0, fenced: new Set() };

/**
 * The fences of this activator by sandbox (`api/rules/suspension.ts`). A fence outlives the seal, because the view of the
 * cluster may be older than both. It ends when its Pod or its sandbox was seen gone, and never earlier for a Pod in view. Of
 * Pods that are not in view, the last `unseenPodsMax` are kept: a real Pod is dropped only if the view of Pods is more
 * suspensions than that behind the view of Sandboxes.
 */
export class PodFences {
  readonly #entries = new Map<string, Entry>();
  /** UIDs of deleted sandboxes, in the order of their deletion. */
  readonly #deleted = new Set<string>();
  readonly #parts: PodFencesParts;

  constructor(parts: PodFencesParts) {
    this.#parts = parts;
  }

  of(sandboxUid: string): Fences {
    return this.#entries.get(sandboxUid) ?? unbound;
  }

  /** Records a suspension that the controller reported; no-op if the watch has shown that generation. */
  reported(sandboxUid: string, generation: number, seenGeneration: number): void {
    if (seenGeneration >= generation || this.#deleted.has(sandboxUid)) return;
    const entry = this.#entryOf(sandboxUid);
    entry.reportedGeneration = Math.max(entry.reportedGeneration, generation);
  }

  /** Records the promise to the controller to send nothing more to that Pod. */
  fence(sandboxUid: string, podUid: string): void {
    if (this.#deleted.has(sandboxUid)) return;
    const entry = this.#entryOf(sandboxUid);
    if (entry.gonePodUid === podUid) return;
    entry.promised.add(podUid);
    this.#add(sandboxUid, entry, podUid);
  }

  /** Reads the seal of a version of a sandbox, from a list, a watch or a patch's answer. A seal fences its Pod. */
  sandboxSeen(sandbox: Stored<SlimSandbox>): void {
    const { uid, generation = 0 } = sandbox.metadata;
    const seal = sealOf(sandbox);
    this.#deleted.delete(uid); // a list may be older than an earlier event
    if (seal) this.#sealSeen(uid, seal.podUid);
    const entry = this.#entries.get(uid);
    if (!entry) return;
    entry.sandbox ??= { namespace: sandbox.metadata.namespace ?? "", name: sandbox.metadata.name, uid };
    if (generation >= entry.reportedGeneration) entry.reportedGeneration = 0;
  }

  podGone(sandboxUid: string, podUid: string): void {
    const entry = this.#entries.get(sandboxUid);
    if (!entry) return;
    entry.fenced.delete(podUid);
    entry.promised.delete(podUid);
    entry.gonePodUid = podUid;
  }

  sandboxGone(sandboxUid: string): void {
    this.#entries.delete(sandboxUid);
    this.#deleted.add(sandboxUid);
    const [oldest] = this.#deleted;
    if (this.#deleted.size > deletedSandboxesMax && oldest !== undefined) this.#deleted.delete(oldest);
  }

  /** The fenced Pods in view. */
  get pods(): readonly FencedPod[] {
    return [...this.#entries].flatMap(([uid, { sandbox, fenced }]) => {
      if (!sandbox || fenced.size === 0) return [];
      return [...fenced].filter((podUid) => this.#parts.hasPod(uid, podUid)).map((podUid) => ({ sandbox, podUid }));
    });
  }

  /** The number of sandboxes with an entry. */
  get size(): number {
    return this.#entries.size;
  }

  #sealSeen(sandboxUid: string, podUid: string): void {
    const entry = this.#entryOf(sandboxUid);
    if (entry.gonePodUid !== podUid) this.#add(sandboxUid, entry, podUid);
  }

  #add(sandboxUid: string, entry: Entry, podUid: string): void {
    const { fenced, promised } = entry;
    const isNew = !fenced.has(podUid);
    fenced.add(podUid);
    if (fenced.size > unseenPodsMax) {
      const unseen = [...fenced].filter((each) => !this.#parts.hasPod(sandboxUid, each));
      for (const dropped of dropFirst(unseen.filter((each) => promised.has(each)))) {
        fenced.delete(dropped);
        promised.delete(dropped);
      }
      for (const dropped of dropFirst(unseen.filter((each) => !promised.has(each)))) fenced.delete(dropped);
    }
    if (isNew) this.#parts.onFenced(sandboxUid, podUid);
  }

  #entryOf(sandboxUid: string): Entry {
    const known = this.#entries.get(sandboxUid);
    if (known) return known;
    const entry: Entry = {
      ...{ sandbox: undefined, reportedGeneration: 0, gonePodUid: undefined },
      ...{ fenced: new Set<string>(), promised: new Set<string>() },
    };
    this.#entries.set(sandboxUid, entry);
    return entry;
  }
}

/** Returns the oldest entries beyond the limit. */
const dropFirst = (unseen: readonly string[]): readonly string[] =>
  unseen.slice(0, Math.max(unseen.length - unseenPodsMax, 0));
