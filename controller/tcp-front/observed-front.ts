import type { EndpointSlice, TcpFrontPort } from "../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { ActivatorEndpoint } from "../suspension/activators/activators.ts";
import type { RestedMs } from "./ports/freed-ages.ts";

/** One observation of the slice of a sandbox. */
export interface ObservedFront {
  readonly now: Date;
  readonly quarantineMs: number;
  /** How long the released ports of the slice rest already. A time that is not in it is new. */
  readonly rested: RestedMs;
  /** Undefined: it does not exist, terminates, or does not use in-cluster names. */
  readonly sandbox: Stored<Sandbox> | undefined;
  /** Whether the Service of its name is its own, and leads nowhere but to slices of ours. */
  readonly hasService: boolean;
  readonly slice: Stored<EndpointSlice> | undefined;
  /** The ports that this controller assigned, whether or not the slice shows them yet. */
  readonly reserved: readonly TcpFrontPort[];
  /** Ports of the slice that it must not keep: an older one has them too, or they have to rest. */
  readonly contested: ReadonlySet<number>;
  /** Free ports; as many as it needs, within the limits. */
  readonly freePorts: readonly number[];
  /** Always in the same order: where two would do as well, the first one is chosen. */
  readonly activators: readonly SeenActivator[];
}

export interface SeenActivator {
  readonly endpoint: ActivatorEndpoint;
  /** The ports on which it accepts for this sandbox. */
  readonly listensOn: ReadonlySet<number>;
}
