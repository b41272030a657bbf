import type { Observed } from "../../../controller/sandbox/observed.ts";
import { aSandbox, noon } from "./builders.ts";

/** One observation of the stores: a running sandbox without children, with overrides. */
export function anObservation(seen: Partial<Observed> = {}): Observed {
  return {
    now: new Date(noon),
    sandbox: aSandbox(),
    pods: [],
    service: undefined,
    claims: new Map(),
    writeBehind: { windowMs: 0, waitedMs: undefined },
    hasActivators: false,
    policyGap: undefined,
    suspending: false,
    ...seen,
  };
}
