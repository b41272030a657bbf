import type { Pod } from "../../api/pod.ts";
import type { Running } from "../../lib/lifecycle.ts";
import { type Reply, replyToRefusal } from "./replies.ts";

/** One activator that may carry something to a sandbox. */
export interface Activator {
  /** Of this replica, never used again: the UID of its Pod. */
  readonly id: string;
  /** Of its drain port; undefined where it has no address, so that a call is as good as refused. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** What a refused connection means when nothing was heard of it for so many milliseconds. */
  readonly whenRefused: (silentForMs: number) => Reply;
}

/** Where the activators are. */
export interface ActivatorFinder {
  /** All that are there, as a consistent read: unready and terminating ones too. */
  list(signal: AbortSignal): Promise<readonly Activator[]>;
  /** The same as far as it is known without a call; it may be behind. */
  known(): readonly Activator[];
}

export interface RunningActivatorFinder extends ActivatorFinder, Running {
  /** Resolves once `known` knows. */
  readonly synced: Promise<void>;
}

/** The container of an activator's Pod that carries. */
const container = "router";

/** An activator as its Pod tells it. The address of a Pod that has ended may be another's by now. */
export function activatorOf(pod: Pod & { readonly metadata: { readonly uid: string } }, port: number): Activator {
  const { phase, podIP: host } = pod.status ?? {};
  const ended = phase === "Succeeded" || phase === "Failed";
  return {
    id: pod.metadata.uid,
    address: host && !ended ? { host, port } : undefined,
    whenRefused: (silentForMs) => replyToRefusal(pod, container, silentForMs),
  };
}

/** Activators that are known without looking for them. Where they are, refusing says nothing of what they carry. */
export function activatorsAt(
  addresses: () => readonly { readonly id: string; readonly host: string; readonly port: number }[],
): ActivatorFinder {
  const known = () =>
    addresses().map(
      ({ id, host, port }): Activator => ({
        id,
        address: { host, port },
        whenRefused: (silentForMs) => ({ is: "silent", forMs: silentForMs }),
      }),
    );
  return { known, list: async () => known() };
}
