import {
  addressesListedBy,
  type EndpointSlice,
  type FreedPort,
  portsIn,
  type TcpFront,
  type TcpFrontPort,
  tcpFrontOf,
} from "../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { readTime } from "../../api/rules/timestamps.ts";
import { frontPorts } from "../sandbox/service/service-ports.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import { chooseEndpoints, familyOf } from "./choose-endpoints.ts";
import { changed, freshSlice, ourPart, type SliceTarget } from "./make-slice.ts";
import type { ObservedFront } from "./observed-front.ts";
import type { Urgency } from "./write-turns.ts";

export type FrontAction =
  | { readonly do: "create"; readonly slice: EndpointSlice; readonly front: TcpFront; readonly urgency: Urgency }
  | {
      readonly do: "replace";
      readonly slice: Stored<EndpointSlice>;
      readonly front: TcpFront;
      readonly urgency: Urgency;
    }
  /** `keep`: the next slice has the same content. */
  | {
      readonly do: "delete";
      readonly slice: Stored<EndpointSlice>;
      readonly keep: TcpFront | undefined;
      readonly urgency: Urgency;
    };

export interface FrontDecision {
  readonly action?: FrontAction;
  /** When time alone will change the decision, in milliseconds. */
  readonly recheckAfterMs?: number;
  /** Ports of the sandbox that got no activator port. */
  readonly unallocated: number;
}

const nothing: FrontDecision = { unallocated: 0 };

/** What is to be done about the slice of one sandbox. */
export function decide(observed: ObservedFront): FrontDecision {
  const { sandbox, slice } = observed;
  if (slice?.metadata.deletionTimestamp) return nothing;
  if (slice && !tcpFrontOf(slice)) {
    return { action: { do: "delete", slice, keep: undefined, urgency: "removal" }, unallocated: 0 };
  }
  return sandbox ? keep(sandbox, observed) : free(observed);
}

function keep(sandbox: Stored<Sandbox>, observed: ObservedFront): FrontDecision {
  const { slice } = observed;
  const { front, unallocated } = allocate(sandbox, observed);
  const recheckAfterMs = nextOver(front.freedPorts ?? [], observed);
  const later = { unallocated, ...(recheckAfterMs !== undefined && { recheckAfterMs }) };
  const family = familyOf(observed.activators, slice?.addressType) ?? "IPv4";
  if (slice && slice.addressType !== family) {
    return { action: { do: "delete", slice, keep: front, urgency: "first" }, unallocated };
  }
  const target = targetOf(sandbox.metadata.name, front, observed, family);
  if (!slice) {
    if (front.ports.length === 0) return later;
    return {
      action: { do: "create", slice: freshSlice(sandbox, front, family, target), front, urgency: "first" },
      ...later,
    };
  }
  const next = changed(slice, front, target);
  if (semanticallyEqual(ourPart(slice), ourPart(next))) return later;
  return { action: { do: "replace", slice: next, front, urgency: urgencyOf(slice, next, front) }, ...later };
}

const nowhere: SliceTarget = { service: undefined, endpoints: [], ports: [] };

/** The Service is named only if there are endpoints to list, which saves a write for each new sandbox. */
function targetOf(
  service: string,
  front: TcpFront,
  { hasService, activators }: ObservedFront,
  family: EndpointSlice["addressType"],
): SliceTarget {
  const listed = hasService ? chooseEndpoints(front.ports, activators, family) : nowhere;
  return listed.endpoints.length > 0 ? { service, ...listed } : nowhere;
}

/** The slice is not in use: it leads nowhere, keeps its own ports for a while, and is then deleted. */
function free(observed: ObservedFront): FrontDecision {
  const { slice, now, quarantineMs, contested } = observed;
  const said = slice && tcpFrontOf(slice);
  if (!slice || !said) return nothing;
  const before = without(contested, said);
  if (portsIn(before).length === 0) {
    return { action: { do: "delete", slice, keep: undefined, urgency: "removal" }, unallocated: 0 };
  }
  // A time in the future is from a clock that was set back since. The quarantine then begins now.
  const freedAt = before.freedAt !== undefined && isPast(before.freedAt, now) ? before.freedAt : now.toISOString();
  const front: TcpFront = { ...before, freedAt };
  const next = changed(slice, front, nowhere);
  const restsForMs = leftMs({ freedAt }, observed);
  if (!semanticallyEqual(ourPart(slice), ourPart(next))) {
    return {
      action: { do: "replace", slice: next, front, urgency: "removal" },
      recheckAfterMs: quarantineMs,
      unallocated: 0,
    };
  }
  if (restsForMs <= 0) return { action: { do: "delete", slice, keep: undefined, urgency: "refresh" }, unallocated: 0 };
  return { recheckAfterMs: restsForMs, unallocated: 0 };
}

function without(contested: ReadonlySet<number>, front: TcpFront): TcpFront {
  const { freedPorts = [], ...others } = front;
  const isOwn = ({ activatorPort }: { readonly activatorPort: number }) => !contested.has(activatorPort);
  const freed = freedPorts.filter(isOwn);
  return { ...others, ports: front.ports.filter(isOwn), ...(freed.length > 0 && { freedPorts: freed }) };
}

type Had = Pick<ObservedFront, "slice" | "reserved" | "contested">;

/** The ports of the activators that a sandbox has, whether or not it still wants them. */
const portsHad = ({ slice, reserved, contested }: Had): readonly TcpFrontPort[] =>
  [...((slice && tcpFrontOf(slice)?.ports) ?? []), ...reserved].filter(
    ({ activatorPort }) => !contested.has(activatorPort),
  );

/** The numbers of ports of the sandbox with and without an activator port. */
export function countPorts(sandbox: Sandbox, had: Had): { readonly inUse: number; readonly missing: number } {
  const kept = new Set(portsHad(had).map(({ containerPort }) => containerPort));
  const wanted = frontPorts(sandbox.spec.podTemplate.spec);
  const missing = wanted.filter(({ port }) => !kept.has(port)).length;
  return { inUse: wanted.length - missing, missing };
}

function allocate(
  sandbox: Stored<Sandbox>,
  observed: ObservedFront,
): { readonly front: TcpFront; readonly unallocated: number } {
  const { slice, freePorts, now } = observed;
  const had = portsHad(observed);
  const keptPorts = new Map(had.toReversed().map(({ containerPort, activatorPort }) => [containerPort, activatorPort]));
  const unused = [...freePorts];
  const wanted = frontPorts(sandbox.spec.podTemplate.spec);
  const ports = wanted.flatMap(({ name = "", port }): readonly TcpFrontPort[] => {
    const activatorPort = keptPorts.get(port) ?? unused.shift();
    return activatorPort === undefined ? [] : [{ name, containerPort: port, activatorPort }];
  });
  const inUse = new Set(ports.map(({ activatorPort }) => activatorPort));
  const freedNow = had
    .filter(({ activatorPort }) => !inUse.has(activatorPort))
    .map(({ activatorPort }): FreedPort => ({ activatorPort, freedAt: now.toISOString() }));
  const resting = ((slice && tcpFrontOf(slice)?.freedPorts) ?? [])
    .map((freed) => (isPast(freed.freedAt, now) ? freed : { ...freed, freedAt: now.toISOString() }))
    .filter((freed) => leftMs(freed, observed) > 0 && !observed.contested.has(freed.activatorPort));
  const freedPorts = [...resting, ...freedNow];
  const { name: sandboxName, uid: sandboxUid } = sandbox.metadata;
  return {
    front: { sandboxName, sandboxUid, ports, ...(freedPorts.length > 0 && { freedPorts }) },
    unallocated: wanted.length - ports.length,
  };
}

function isPast(text: string, now: Date): boolean {
  const time = readTime(text);
  return time !== undefined && time <= now;
}

/**
 * How long the port stays in quarantine. The wall clock does not count: if it jumped forward, the port would go to another
 * sandbox too early.
 */
const leftMs = ({ freedAt }: Pick<FreedPort, "freedAt">, { rested, quarantineMs }: ObservedFront): number =>
  quarantineMs - (rested.get(freedAt) ?? 0);

/** Milliseconds until the quarantine of the first of these ports ends. */
function nextOver(freed: readonly FreedPort[], observed: ObservedFront): number | undefined {
  const left = freed.map((one) => leftMs(one, observed));
  return left.length === 0 ? undefined : Math.min(...left);
}

function urgencyOf(before: EndpointSlice, next: EndpointSlice, front: TcpFront): Urgency {
  const listed = new Set(addressesListedBy(next));
  if (addressesListedBy(before).length === 0 && listed.size > 0) return "first";
  if (!semanticallyEqual(tcpFrontOf(before)?.ports, front.ports)) return "first";
  return addressesListedBy(before).every((address) => listed.has(address)) ? "refresh" : "removal";
}
