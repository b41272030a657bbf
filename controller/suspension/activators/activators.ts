import type { KubeObject, Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { byCodeUnits } from "../../../lib/data/by-code-units.ts";
import { Subscribers } from "../../../lib/data/subscribers.ts";
import type { Running } from "../../../lib/process/lifecycle.ts";
import { isPodReady, podEnding } from "../../sandbox/pod-state.ts";
import { type Reply, replyToRefusal } from "./activator-replies.ts";
import type { Silence } from "./silence.ts";

/** One activator that may proxy requests to a sandbox. */
export interface Activator {
  /** The UID of its Pod, which is unique to this replica. */
  readonly id: string;
  /** Its name in messages. */
  readonly name: string;
  /** Whether its Pod is Ready. It is not before its kubelet has reported so, nor after an outage of its node. */
  readonly mayServe: boolean;
  /** URL of its drain listener; undefined without an address, which counts as a refused call. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** Its address for clients of sandboxes; undefined when no new client may be sent to it. */
  readonly endpoint: ActivatorEndpoint | undefined;
  /** The object that an event about it regards; absent when there is no such object. */
  readonly pod?: KubeObject;
  /** What a refused connection means after this silence. */
  readonly whenRefused: (silence: Silence) => Reply;
}

export interface ActivatorEndpoint {
  /** A literal IP address. */
  readonly address: string;
  /** The run of its process: another run listens nowhere before it confirms ports. */
  readonly run: string;
  readonly ready: boolean;
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** The source of the activators. */
export interface ActivatorFinder {
  /** All activators by a consistent read, unready and terminating ones included. */
  list(signal: AbortSignal): Promise<readonly Activator[]>;
  /** The activators that are known without a call, in any order; may be stale. */
  known(): readonly Activator[];
  /** Pods with the activators' labels that are not activators; they are never asked. Absent: none. */
  otherPods?(): readonly Stored<KubeObject>[];
  /** Calls back when the known activators change, until it is disposed of. */
  onChange(listener: () => void): Disposable;
}

/**
 * The same finder, whose known activators are in the order of their ids. A store puts an object last at each update, so any
 * report of a Pod would otherwise change the order.
 */
export const inOrderOfIds = (finder: ActivatorFinder): ActivatorFinder => ({
  list: (signal) => finder.list(signal),
  known: () => finder.known().toSorted((one, other) => byCodeUnits(one.id, other.id)),
  onChange: (listener) => finder.onChange(listener),
});

export interface RunningActivatorFinder extends ActivatorFinder, Running {
  /** Resolves once `known` is filled. */
  readonly synced: Promise<void>;
}

/** The container of an activator's Pod that proxies. */
const container = "router";

/**
 * An activator as its Pod describes it; undefined for a Pod that has ended. Such a Pod has no running container and never
 * runs again (decision 0047), and its address may be another's by now.
 */
export function activatorOf(pod: Stored<Pod>, port: number): Activator | undefined {
  if (podEnding(pod)) return undefined;
  const { podIP: host } = pod.status ?? {};
  return {
    id: pod.metadata.uid,
    name: pod.metadata.name,
    mayServe: isPodReady(pod),
    // Items of a list have no kind.
    pod: { ...pod, apiVersion: "v1", kind: "Pod" },
    address: host ? { host, port } : undefined,
    endpoint: host ? endpointOf(pod, host) : undefined,
    whenRefused: (silence) => replyToRefusal(pod, container, silence),
  };
}

function endpointOf(pod: Stored<Pod>, address: string): ActivatorEndpoint | undefined {
  const { metadata, status } = pod;
  const { namespace = "", name, uid, deletionTimestamp } = metadata;
  const carrier = status?.containerStatuses?.find((one) => one.name === container);
  if (deletionTimestamp || (carrier && !carrier.state?.running)) return undefined;
  return {
    address,
    run: `${uid} ${carrier?.containerID ?? ""} ${carrier?.restartCount ?? 0}`,
    ready: isPodReady(pod),
    pod: { namespace, name, uid },
  };
}

/** Activators that are known in advance. Their refusal of a connection does not show whether they proxy. */
export class KnownActivators implements ActivatorFinder {
  readonly #listeners = new Subscribers();
  #activators: readonly Activator[] = [];

  /** These are all from now on; their clients reach them where the controller does. */
  are(addresses: readonly { readonly id: string; readonly host: string; readonly port: number }[]): void {
    this.#activators = addresses.map(({ id, host, port }) => ({
      id,
      name: id,
      mayServe: true,
      address: { host, port },
      endpoint: { address: host, run: id, ready: true },
      whenRefused: (silence) => ({ is: "silent", ...silence }),
    }));
    this.#listeners.notify();
  }

  known(): readonly Activator[] {
    return this.#activators;
  }

  async list(): Promise<readonly Activator[]> {
    return this.#activators;
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }
}
