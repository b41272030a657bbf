import { isConditionTrue } from "../../api/conditions.ts";
import type { KubeObject, Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import type { Running } from "../../lib/lifecycle.ts";
import { Subscribers } from "../../lib/subscribers.ts";
import { type Reply, replyToRefusal } from "./replies.ts";

/** One activator that may carry something to a sandbox. */
export interface Activator {
  /** Of this replica, never used again: the UID of its Pod. */
  readonly id: string;
  /** Of its drain port; undefined where it has no address, so that a call is as good as refused. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** Where clients of sandboxes reach it; undefined where nobody new may be sent to it. */
  readonly endpoint: ActivatorEndpoint | undefined;
  /** What an event about it is about; absent where there is no such object. */
  readonly pod?: KubeObject;
  /** What a refused connection means when nothing was heard of it for so many milliseconds. */
  readonly whenRefused: (silentForMs: number) => Reply;
}

export interface ActivatorEndpoint {
  /** A literal IP address. */
  readonly address: string;
  /** Of its process: another run of it listens nowhere before it says so. */
  readonly run: string;
  readonly ready: boolean;
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** Where the activators are. */
export interface ActivatorFinder {
  /** All that are there, as a consistent read: unready and terminating ones too. */
  list(signal: AbortSignal): Promise<readonly Activator[]>;
  /** The same as far as it is known without a call; it may be behind. */
  known(): readonly Activator[];
  /** Calls back when what is known has changed, until it is disposed of. */
  onChange(listener: () => void): Disposable;
}

export interface RunningActivatorFinder extends ActivatorFinder, Running {
  /** Resolves once `known` knows. */
  readonly synced: Promise<void>;
}

/** The container of an activator's Pod that carries. */
const container = "router";

/** An activator as its Pod tells it. The address of a Pod that has ended may be another's by now. */
export function activatorOf(pod: Stored<Pod>, port: number): Activator {
  const { phase, podIP: host } = pod.status ?? {};
  const ended = phase === "Succeeded" || phase === "Failed";
  return {
    id: pod.metadata.uid,
    // Items of a list do not say what they are.
    pod: { ...pod, apiVersion: "v1", kind: "Pod" },
    address: host && !ended ? { host, port } : undefined,
    endpoint: host && !ended ? endpointOf(pod, host) : undefined,
    whenRefused: (silentForMs) => replyToRefusal(pod, container, silentForMs),
  };
}

function endpointOf({ metadata, status }: Stored<Pod>, address: string): ActivatorEndpoint | undefined {
  const { namespace = "", name, uid, deletionTimestamp } = metadata;
  const carrier = status?.containerStatuses?.find((one) => one.name === container);
  if (deletionTimestamp || (carrier && !carrier.state?.running)) return undefined;
  return {
    address,
    run: `${uid} ${carrier?.containerID ?? ""} ${carrier?.restartCount ?? 0}`,
    ready: isConditionTrue(status?.conditions, "Ready"),
    pod: { namespace, name, uid },
  };
}

/** Activators that are known without looking for them. Where they are, refusing says nothing of what they carry. */
export class KnownActivators implements ActivatorFinder {
  readonly #listeners = new Subscribers();
  #activators: readonly Activator[] = [];

  /** These are all from now on; their clients reach them where the controller does. */
  are(addresses: readonly { readonly id: string; readonly host: string; readonly port: number }[]): void {
    this.#activators = addresses.map(({ id, host, port }) => ({
      id,
      address: { host, port },
      endpoint: { address: host, run: id, ready: true },
      whenRefused: (silentForMs) => ({ is: "silent", forMs: silentForMs }),
    }));
    this.#listeners.tell();
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
