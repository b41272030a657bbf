import type { FencedPod } from "../../../api/between-programs/drain-protocol.ts";
import { keyFor } from "../../../api/kinds/meta.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import { Subscribers } from "../../../lib/data/subscribers.ts";
import { findPod } from "../../sandbox/find-pod.ts";
import type { Observed } from "../../sandbox/observed.ts";

type Seen = Pick<Observed, "sandbox" | "pods">;

/**
 * The Pods that activators have fenced, as each has last reported. The seal of such a Pod is in an annotation of its Sandbox,
 * which a client may remove.
 */
export class FencedPods {
  readonly #read: (key: string) => Seen | undefined;
  /** By the sandbox and the Pod, because a seal may name the Pod of another sandbox. */
  readonly #byActivator = new Map<string, ReadonlySet<string>>();
  readonly #listeners = new Subscribers<string>();

  /** `read` is undefined for a sandbox that is no more. */
  constructor(read: (key: string) => Seen | undefined) {
    this.#read = read;
  }

  /** Takes the whole report of an activator. */
  heard(activatorId: string, pods: readonly FencedPod[]): void {
    this.#byActivator.set(activatorId, new Set(pods.map(({ sandbox, podUid }) => fenceKey(sandbox.uid, podUid))));
    for (const pod of pods) {
      const key = keyFor(pod.sandbox.namespace, pod.sandbox.name);
      const seen = this.#read(key);
      if (seen && hasLostItsSeal(seen, pod)) this.#listeners.notify(key);
    }
  }

  /** Forgets the reports of all activators but these. */
  keep(activatorIds: ReadonlySet<string>): void {
    for (const id of this.#byActivator.keys()) if (!activatorIds.has(id)) this.#byActivator.delete(id);
  }

  has(sandboxUid: string, podUid: string): boolean {
    const key = fenceKey(sandboxUid, podUid);
    return this.#byActivator.values().some((keys) => keys.has(key));
  }

  /** Calls back at each report of a Pod that its sandbox runs with, and that has no seal. */
  onLostSeal(listener: (key: string) => void): Disposable {
    return this.#listeners.add(listener);
  }
}

const fenceKey = (sandboxUid: string, podUid: string): string => `${sandboxUid} ${podUid}`;

function hasLostItsSeal(seen: Seen, { sandbox, podUid }: FencedPod): boolean {
  const found = findPod(seen);
  if (seen.sandbox.metadata.uid !== sandbox.uid || sealOf(seen.sandbox) || found.found !== "owned") return false;
  return found.pod.metadata.uid === podUid && found.pod.metadata.deletionTimestamp === undefined;
}
