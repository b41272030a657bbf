import { type Pod, podType } from "../../api/core.ts";
import { controllerOf, keyFor, keyOf, type Stored } from "../../api/meta.ts";
import { groupOf } from "../../api/resource-type.ts";
import { agentsGroup, type Sandbox, sandboxType } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Change, Informer } from "../../kube/informer.ts";
import { startInformer } from "../../kube/start-informer.ts";
import type { Clock } from "../../lib/clock.ts";
import { abortable, type Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { SetsByKey } from "../../lib/sets-by-key.ts";
import { Bell } from "./bell.ts";

/** What the activator knows of the cluster, from watches alone. */
export interface Cluster {
  sandbox(namespace: string, name: string): Stored<Sandbox> | undefined;
  /** The Pod that is owned by this very Sandbox, not by another of its name; one that stays before one that goes. */
  podOf(sandbox: Stored<Sandbox>): Stored<Pod> | undefined;
  /** Every Pod that says that it has this address, in the spelling of its status: ended ones and the host's too. */
  podsAt(ip: string): readonly Stored<Pod>[];
  /** A bell that rings when the sandbox or a Pod of it changes, until it is disposed of. */
  listen(namespace: string, name: string): Disposable & Pick<Bell, "next" | "reset">;
  /** A bell that rings when a Pod comes to have this address, or changes while it has it. */
  listenAt(ip: string): Disposable & Pick<Bell, "next" | "reset">;
  /** Calls back with the UID of each Pod that is gone, and of the sandbox that owned it. */
  onPodGone(listener: (podUid: string, sandboxUid: string) => void): void;
  /** Calls back when a sandbox comes, changes or goes, before anybody who waits for that looks again. */
  onSandboxChange(listener: (change: Change<Sandbox>) => void): void;
  /** Monotonic milliseconds when the Pod was first seen. */
  podSeenMs(podUid: string): number | undefined;
  /** Milliseconds since the API server last said anything on the quieter of the two watches. */
  silentMs(): number;
  /** Whether both first lists have worked. */
  readonly synced: boolean;
  /** Resolves once they have; never, if it is disposed of before. */
  readonly firstSeen: Promise<void>;
}

export interface ClusterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Starts to follow Sandboxes, and Pods once those are listed: what a Pod's sandbox says is then never older than it. */
export function startCluster(options: ClusterOptions): Cluster & Running {
  return new WatchedCluster(options);
}

/** Every address that a Pod says it has. */
function addressesOf({ status = {} }: Pod): readonly string[] {
  const addresses = new Set([status.podIP, ...(status.podIPs ?? []).map(({ ip }) => ip)]);
  return [...addresses].flatMap((ip) => ip || []);
}

const isSandbox = (reference: { readonly kind: string; readonly apiVersion: string }) =>
  reference.kind === "Sandbox" && groupOf(reference.apiVersion) === agentsGroup;

class WatchedCluster implements Cluster, Running {
  readonly failed: Promise<never>;
  readonly #options: ClusterOptions;
  readonly #sandboxes: Informer<Sandbox>;
  readonly #stop = new AbortController();
  readonly #started: Promise<void>;
  readonly #bells = new SetsByKey<Bell>();
  readonly #seenMs = new Map<string, number>();
  readonly #goneListeners: ((podUid: string, sandboxUid: string) => void)[] = [];
  readonly #failure = Promise.withResolvers<never>();
  readonly #firstSeen = Promise.withResolvers<void>();
  #pods: Informer<Pod, "owner" | "ip"> | undefined;
  #synced = false;
  /** The sandbox that was asked for last: a request asks for its own four times. */
  #last:
    | { readonly namespace: string; readonly name: string; readonly sandbox: Stored<Sandbox> | undefined }
    | undefined;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.failed = this.#failure.promise;
    this.failed.catch(() => {}); // whoever does not race it must not be killed by it
    this.#sandboxes = startInformer({ ...options, type: sandboxType, indexes: {} });
    this.#sandboxes.onChange(({ key }) => {
      this.#last = undefined;
      this.#ring(key);
    });
    this.#sandboxes.failed.catch(this.#failure.reject);
    this.#started = this.#followPods().catch(() => {}); // only disposal interrupts it
  }

  get synced(): boolean {
    return this.#synced;
  }

  get firstSeen(): Promise<void> {
    return this.#firstSeen.promise;
  }

  sandbox(namespace: string, name: string): Stored<Sandbox> | undefined {
    const last = this.#last;
    if (last && last.name === name && last.namespace === namespace) return last.sandbox;
    const sandbox = this.#sandboxes.store.get(keyFor(namespace, name));
    this.#last = { namespace, name, sandbox };
    return sandbox;
  }

  podOf(sandbox: Stored<Sandbox>): Stored<Pod> | undefined {
    const owned = this.#pods?.store.by("owner", sandbox.metadata.uid) ?? [];
    return owned.find(({ metadata }) => !metadata.deletionTimestamp) ?? owned[0];
  }

  podsAt(ip: string): readonly Stored<Pod>[] {
    return this.#pods?.store.by("ip", ip) ?? [];
  }

  listen(namespace: string, name: string): Disposable & Pick<Bell, "next" | "reset"> {
    return this.#listenFor(keyFor(namespace, name));
  }

  // No address has a slash in it, and every sandbox's key has one.
  listenAt(ip: string): Disposable & Pick<Bell, "next" | "reset"> {
    return this.#listenFor(ip);
  }

  #listenFor(key: string): Disposable & Pick<Bell, "next" | "reset"> {
    const bell = new Bell();
    const added = this.#bells.add(key, bell);
    return {
      next: () => bell.next(),
      reset: () => bell.reset(),
      [Symbol.dispose]: () => added[Symbol.dispose](),
    };
  }

  onPodGone(listener: (podUid: string, sandboxUid: string) => void): void {
    this.#goneListeners.push(listener);
  }

  onSandboxChange(listener: (change: Change<Sandbox>) => void): void {
    this.#sandboxes.onChange(listener);
  }

  podSeenMs(podUid: string): number | undefined {
    return this.#seenMs.get(podUid);
  }

  silentMs(): number {
    return Math.max(this.#sandboxes.silentMs(), this.#pods?.silentMs() ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the cluster is no longer followed"));
    await this.#started;
    await Promise.all([this.#pods?.[Symbol.asyncDispose](), this.#sandboxes[Symbol.asyncDispose]()]);
  }

  async #followPods(): Promise<void> {
    await abortable(this.#sandboxes.synced, this.#stop.signal);
    const owner = (pod: Pod) => (pod.metadata.ownerReferences ?? []).filter(isSandbox).map(({ uid }) => uid);
    const pods = startInformer({ ...this.#options, type: podType, indexes: { owner, ip: addressesOf } });
    this.#pods = pods;
    pods.failed.catch(this.#failure.reject);
    pods.onChange(({ previous, current }) => this.#podChanged(previous, current));
    await abortable(pods.synced, this.#stop.signal);
    this.#synced = true;
    this.#firstSeen.resolve();
    for (const sandbox of this.#sandboxes.store.list()) this.#ring(keyOf(sandbox));
  }

  #podChanged(previous: Stored<Pod> | undefined, current: Stored<Pod> | undefined): void {
    if (current && this.#bells.size > 0) for (const ip of addressesOf(current)) this.#ring(ip);
    const pod = current ?? previous;
    const owner = pod && controllerOf(pod);
    if (!pod || !owner || !isSandbox(owner)) return;
    const { uid } = pod.metadata;
    if (previous && previous.metadata.uid !== current?.metadata.uid) this.#podGone(previous, owner.uid);
    if (current && !this.#seenMs.has(uid)) this.#seenMs.set(uid, this.#options.clock.ticksMs());
    this.#ring(keyFor(pod.metadata.namespace, owner.name));
  }

  #podGone({ metadata: { uid } }: Stored<Pod>, sandboxUid: string): void {
    this.#seenMs.delete(uid);
    for (const listener of this.#goneListeners) listener(uid, sandboxUid);
  }

  #ring(key: string): void {
    for (const bell of this.#bells.of(key)) bell.ring();
  }
}
