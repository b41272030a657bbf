import type { PersistentVolumeClaim, Service } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";

/** Everything that one look at the stores shows of one sandbox. */
export interface Observed {
  readonly now: Date;
  readonly sandbox: Stored<Sandbox>;
  /** Every Pod of its namespace that may be its own: the tracked one and those with its tracking label. */
  readonly pods: readonly Stored<Pod>[];
  readonly service: Stored<Service> | undefined;
  /** The PersistentVolumeClaims that are there, by name. */
  readonly claims: ReadonlyMap<string, Stored<PersistentVolumeClaim>>;
  readonly writeBehind: WriteBehind;
  /** Whether there are activators, to which the Service of a sandbox may lead. */
  readonly hasActivators: boolean;
  /** Its Pod is being taken away by a handshake that is not over: nobody else does anything about that Pod. */
  readonly suspending: boolean;
}

/** How long a change of the Pod's metadata alone may wait, so that several become one write. */
export interface WriteBehind {
  /** 0: written at once. */
  readonly windowMs: number;
  /** How long it has been waiting; undefined when none is. */
  readonly waitedMs: number | undefined;
}
