import type { PersistentVolumeClaim, Service } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { MemoryRefusal, SeenImages } from "../suspension/hibernation/memory-provider.ts";

/** A snapshot of everything in the stores about one sandbox. */
export interface Observed {
  readonly now: Date;
  readonly sandbox: Stored<Sandbox>;
  /** The Pods that it may have by their names, and those with its tracking label that it controls: two of them if they are many. */
  readonly pods: readonly Stored<Pod>[];
  /** How many more it controls that were not read; absent: none. */
  readonly moreOwnPods?: number;
  readonly service: Stored<Service> | undefined;
  /** The existing PersistentVolumeClaims, by name. */
  readonly claims: ReadonlyMap<string, Stored<PersistentVolumeClaim>>;
  /** Why its memory cannot be kept over a suspension; absent: it can, or is not to be kept. */
  readonly memoryRefusal?: MemoryRefusal | undefined;
  /** Its MemoryImages; absent: nothing captures memory here. */
  readonly memory?: SeenImages | undefined;
  readonly writeBehind: WriteBehind;
  /** Whether activators are configured, to which the Service of a sandbox may lead. */
  readonly hasActivators: boolean;
  /** Why its Pod must not start: the NetworkPolicy of its template is not in place. */
  readonly policyGap: string | undefined;
  /** A handshake that has not ended removes its Pod: nothing else may change that Pod. */
  readonly suspending: boolean;
}

/** How long a change of the Pod's metadata alone may be deferred, so that several become one write. */
export interface WriteBehind {
  /** 0: written at once. */
  readonly windowMs: number;
  /** How long a change has been deferred; undefined when none is. */
  readonly waitedMs: number | undefined;
}
