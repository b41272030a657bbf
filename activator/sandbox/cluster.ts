import { type Pod, podType } from "../../api/kinds/core.ts";
import { keyFor, keyOf, type OwnerReference, type Stored } from "../../api/kinds/meta.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { controllerOfKind, ownershipOf } from "../../api/rules/ownership.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Change, Informer } from "../../kube/informer/informer.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { SetsByKey } from "../../lib/data/sets-by-key.ts";
import type { Logger } from "../../lib/log/log.ts";
import { abortable, type Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { type ClockReading, readClocks } from "../../lib/time/clock-jumps.ts";
import { addressesOfPod, type PodAddress } from "../pod-connections/place.ts";
import { ChangeSignal, type Changes, changesOf } from "./change-signal.ts";
import { type PodSightings, type PodSights, sightsAfter } from "./pod-sights.ts";
import { slimPod } from "./slim-objects.ts";
import { type SlimSandbox, slimSandbox, slimSandboxType } from "./slim-sandbox.ts";

/** The activator's view of the cluster, from watches alone. */
export interface Cluster extends PodSightings {
  sandbox(namespace: string, name: string): Stored<SlimSandbox> | undefined;
  hasSandboxes(namespace: string): boolean;
  /**
   * The Pod that this Sandbox controls, by UID. Of several, a Pod that is not being deleted is preferred, then the oldest, so
   * that a later Pod never takes over; within one second, the Pod with the sandbox's name.
   */
  podOf(sandbox: Stored<SlimSandbox>): Stored<Pod> | undefined;
  /** Whether a Pod with that UID is in view and controlled by this sandbox. */
  hasPod(sandboxUid: string, podUid: string): boolean;
  /** Every Pod whose status names this address in this spelling, also ended Pods and those on the host's network. */
  podsAt(ip: string): readonly Stored<Pod>[];
  /** A signal for changes of the sandbox or a Pod of it, until disposed of. */
  listen(namespace: string, name: string): Changes;
  /** A signal for a Pod that gets this address, or changes while it has it, until disposed of. */
  listenAt(ip: string): Changes;
  /** Calls back with the UID of each Pod that is gone, and with the sandbox in view that it belonged to. */
  onPodGone(listener: (podUid: string, sandbox: Stored<SlimSandbox> | undefined) => void): void;
  /**
   * Calls back with each address that a Pod of a sandbox has lost: it got another one, or it has ended, or it is gone. Nothing
   * that is sent there reaches the Pod, and the address may become another Pod's.
   */
  onAddressLost(listener: (lost: PodAddress) => void): void;
  /** Whether a Pod of a sandbox has that address now. */
  hasAddress(address: PodAddress): boolean;
  /** Calls back when a sandbox is created, changed or deleted, before waiting requests are resolved again. */
  onSandboxChange(listener: (change: Change<SlimSandbox>) => void): void;
  /** Monotonic milliseconds when the Pod was first seen. */
  podSeenMs(podUid: string): number | undefined;
  /** Milliseconds since the last message of the API server, on the watch that has been silent longer. `now`: see `Informer`. */
  silentMs(now?: ClockReading): number;
  /** Whether both first lists have succeeded. */
  readonly synced: boolean;
  /** Resolves at that moment; never if disposed of before. */
  readonly firstSeen: Promise<void>;
}

/** After this silence of the API server, in milliseconds, addresses may belong to other Pods. */
export const longestSilenceMs = 120_000;

export interface ClusterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Follows Sandboxes, and Pods after the first list of those: the sandbox of a known Pod is then never older than it. */
export function startCluster(options: ClusterOptions): Cluster & Running {
  return new WatchedCluster(options);
}

/** Every address in the status of a Pod. */
function addressesOf({ status = {} }: Pod): readonly string[] {
  const addresses = new Set([status.podIP, ...(status.podIPs ?? []).map(({ ip }) => ip)]);
  return [...addresses].flatMap((ip) => ip || []);
}

/** An owner is in the namespace of its Pod: references from other namespaces, which any user may write, have other keys. */
const ownerKey = (namespace: string | undefined, uid: string) => keyFor(namespace, uid);

/** The Sandbox that controls a Pod, as a list for an index. */
function ownerOf(pod: Pod): readonly string[] {
  const owner = controllerOfKind(pod, sandboxType);
  return owner ? [ownerKey(pod.metadata.namespace, owner.uid)] : [];
}

function precedes({ metadata: one }: Stored<Pod>, { metadata: other }: Stored<Pod>, name: string): boolean {
  if ((one.deletionTimestamp === undefined) !== (other.deletionTimestamp === undefined)) {
    return one.deletionTimestamp === undefined;
  }
  if (one.creationTimestamp !== other.creationTimestamp) return one.creationTimestamp < other.creationTimestamp;
  return other.name !== name && (one.name === name || one.uid < other.uid);
}

const none: readonly never[] = [];

/** A Pod that a sandbox controls, or that claims this. */
interface SeenPod {
  readonly sights: PodSights;
  readonly addresses: readonly string[];
  readonly namespace: string;
  readonly sandboxName: string;
  readonly sandboxUid: string;
}

class WatchedCluster implements Cluster, Running {
  readonly failed: Promise<never>;
  readonly #options: ClusterOptions;
  readonly #sandboxes: Informer<SlimSandbox>;
  readonly #stop = new AbortController();
  readonly #started: Promise<void>;
  readonly #signals = new SetsByKey<ChangeSignal>();
  /** By the UID of the Pod. */
  readonly #seen = new Map<string, SeenPod>();
  /** What `podOf` chose, by the UID of the sandbox, until a Pod of that owner changes. */
  readonly #chosen = new Map<string, Stored<Pod>>();
  /** The number of sandboxes by namespace, for namespaces with sandboxes. */
  readonly #counts = new Map<string, number>();
  readonly #goneListeners: ((podUid: string, sandbox: Stored<SlimSandbox> | undefined) => void)[] = [];
  readonly #lostListeners: ((lost: PodAddress) => void)[] = [];
  readonly #failure = Promise.withResolvers<never>();
  readonly #firstSeen = Promise.withResolvers<void>();
  #pods: Informer<Pod, "owner" | "ip"> | undefined;
  #synced = false;
  /** The last sandbox read: a request reads its own four times. */
  #last:
    | { readonly namespace: string; readonly name: string; readonly sandbox: Stored<SlimSandbox> | undefined }
    | undefined;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.failed = this.#failure.promise;
    this.failed.catch(() => {}); // without a listener, the rejection would end the process
    this.#sandboxes = startInformer({ ...options, type: slimSandboxType, indexes: {}, transform: slimSandbox });
    this.#sandboxes.onChange(({ key, previous, current }) => {
      this.#last = undefined;
      if (!previous !== !current) this.#count((current ?? previous)?.metadata.namespace ?? "", current ? 1 : -1);
      this.#notify(key);
    });
    this.#sandboxes.failed.catch(this.#failure.reject);
    this.#started = this.#followPods().catch(() => {}); // it rejects by disposal alone
  }

  get synced(): boolean {
    return this.#synced;
  }

  get firstSeen(): Promise<void> {
    return this.#firstSeen.promise;
  }

  sandbox(namespace: string, name: string): Stored<SlimSandbox> | undefined {
    const last = this.#last;
    if (last && last.name === name && last.namespace === namespace) return last.sandbox;
    const sandbox = this.#sandboxes.store.get(keyFor(namespace, name));
    this.#last = { namespace, name, sandbox };
    return sandbox;
  }

  hasSandboxes(namespace: string): boolean {
    return this.#counts.has(namespace);
  }

  #count(namespace: string, difference: 1 | -1): void {
    const count = (this.#counts.get(namespace) ?? 0) + difference;
    if (count > 0) this.#counts.set(namespace, count);
    else this.#counts.delete(namespace);
  }

  podOf(sandbox: Stored<SlimSandbox>): Stored<Pod> | undefined {
    const { namespace, uid } = sandbox.metadata;
    const before = this.#chosen.get(uid);
    if (before) return before;
    let chosen: Stored<Pod> | undefined;
    for (const pod of this.#pods?.store.by("owner", ownerKey(namespace, uid)) ?? none) {
      if (ownershipOf(pod, sandbox) !== "owned") continue;
      if (!chosen || precedes(pod, chosen, sandbox.metadata.name)) chosen = pod;
    }
    if (chosen) this.#chosen.set(uid, chosen);
    return chosen;
  }

  hasPod(sandboxUid: string, podUid: string): boolean {
    return this.#seen.get(podUid)?.sandboxUid === sandboxUid;
  }

  podsAt(ip: string): readonly Stored<Pod>[] {
    return this.#pods?.store.by("ip", ip) ?? [];
  }

  listen(namespace: string, name: string): Changes {
    return this.#listenFor(keyFor(namespace, name));
  }

  // Sandbox keys contain a slash, and addresses do not.
  listenAt(ip: string): Changes {
    return this.#listenFor(ip);
  }

  #listenFor(key: string): Changes {
    const signal = new ChangeSignal();
    return changesOf(signal, this.#signals.add(key, signal));
  }

  onPodGone(listener: (podUid: string, sandbox: Stored<SlimSandbox> | undefined) => void): void {
    this.#goneListeners.push(listener);
  }

  onAddressLost(listener: (lost: PodAddress) => void): void {
    this.#lostListeners.push(listener);
  }

  hasAddress({ podUid, ip }: PodAddress): boolean {
    return this.#seen.get(podUid)?.addresses.includes(ip) ?? false;
  }

  onSandboxChange(listener: (change: Change<SlimSandbox>) => void): void {
    this.#sandboxes.onChange(listener);
  }

  podSeenMs(podUid: string): number | undefined {
    return this.#seen.get(podUid)?.sights.seenMs;
  }

  sightsOf(podUid: string): PodSights | undefined {
    return this.#seen.get(podUid)?.sights;
  }

  silentMs(now: ClockReading = readClocks(this.#options.clock)): number {
    return Math.max(this.#sandboxes.silentMs(now), this.#pods?.silentMs(now) ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the cluster is no longer followed"));
    await this.#started;
    await Promise.all([this.#pods?.[Symbol.asyncDispose](), this.#sandboxes[Symbol.asyncDispose]()]);
  }

  async #followPods(): Promise<void> {
    await abortable(this.#sandboxes.synced, this.#stop.signal);
    const pods = startInformer({
      ...this.#options,
      type: podType,
      indexes: { owner: ownerOf, ip: addressesOf },
      transform: slimPod,
    });
    this.#pods = pods;
    pods.failed.catch(this.#failure.reject);
    pods.onChange(({ previous, current }) => this.#podChanged(previous, current));
    await abortable(pods.synced, this.#stop.signal);
    this.#synced = true;
    this.#firstSeen.resolve();
    for (const sandbox of this.#sandboxes.store.list()) this.#notify(keyOf(sandbox));
  }

  #podChanged(previous: Stored<Pod> | undefined, current: Stored<Pod> | undefined): void {
    if (current && this.#signals.size > 0) for (const ip of addressesOf(current)) this.#notify(ip);
    const owner = current && controllerOfKind(current, sandboxType);
    const former = previous && controllerOfKind(previous, sandboxType);
    if (owner) this.#chosen.delete(owner.uid);
    if (former) this.#chosen.delete(former.uid);
    if (previous && previous.metadata.uid !== current?.metadata.uid) this.#podGone(previous.metadata.uid);
    if (current) this.#podSeen(current, owner);
    const ringing = owner ?? former;
    if (ringing) this.#notify(keyFor((current ?? previous)?.metadata.namespace, ringing.name));
  }

  /** A Pod without an owner is followed only if it had one. */
  #podSeen(pod: Stored<Pod>, owner: OwnerReference | undefined): void {
    const { uid, namespace = "" } = pod.metadata;
    const before = this.#seen.get(uid);
    if (!owner && !before) return;
    const sights = sightsAfter(before?.sights, pod, this.#options.clock.ticksMs());
    const addresses = addressesOfPod(pod);
    const { sandboxName = "", sandboxUid = "" } = before ?? {};
    const of = owner ? { sandboxName: owner.name, sandboxUid: owner.uid } : { sandboxName, sandboxUid };
    this.#seen.set(uid, { sights, namespace, addresses, ...of });
    this.#addressesLost(uid, before?.addresses, addresses);
  }

  #addressesLost(podUid: string, before: readonly string[] = none, now: readonly string[] = none): void {
    for (const ip of before) {
      if (!now.includes(ip)) for (const listener of this.#lostListeners) listener({ podUid, ip });
    }
  }

  #podGone(podUid: string): void {
    const seen = this.#seen.get(podUid);
    if (!seen) return;
    this.#seen.delete(podUid);
    const named = this.sandbox(seen.namespace, seen.sandboxName);
    const sandbox = named?.metadata.uid === seen.sandboxUid ? named : undefined;
    this.#addressesLost(podUid, seen.addresses);
    for (const listener of this.#goneListeners) listener(podUid, sandbox);
  }

  #notify(key: string): void {
    for (const signal of this.#signals.of(key)) signal.notify();
  }
}
