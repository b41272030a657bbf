import type { PodSpec, ServicePort } from "../../../api/kinds/core.ts";
import { declaredPorts, fallbackPort } from "../../../api/rules/declared-ports.ts";
import { byCodeUnits } from "../../../lib/data/by-code-units.ts";

interface Wanted {
  readonly port: number;
  readonly protocol: string;
  /** The first name that a container gave to it. */
  readonly name: string | undefined;
}

/**
 * By Pod spec; each version of an object has another one. A pass asks several times, and many passes see one version. A Pod may declare
 * tens of thousands of ports, whose names take a tenth of a second.
 */
const portsOf = new WeakMap<PodSpec, ServicePorts>();

interface ServicePorts {
  readonly all: readonly ServicePort[];
  readonly tcp: readonly ServicePort[];
}

/**
 * The ports of the Service in front of a Pod: one for each port and protocol of its containers and sidecars, ordered,
 * each with a different name. The same list for the same spec.
 */
export const servicePorts = (spec: PodSpec): readonly ServicePort[] => known(spec).all;

function known(spec: PodSpec): ServicePorts {
  let ports = portsOf.get(spec);
  if (!ports) {
    const all = makePorts(spec);
    ports = { all, tcp: all.filter(({ protocol }) => protocol === "TCP") };
    portsOf.set(spec, ports);
  }
  return ports;
}

function makePorts(spec: PodSpec): readonly ServicePort[] {
  const wanted = wantedPorts(spec);
  const names = nameEach(wanted);
  return wanted
    .map(({ port, protocol }, at): ServicePort => ({ name: names[at] ?? "", port, protocol, targetPort: port }))
    .sort((a, b) => a.port - b.port || byCodeUnits(a.protocol ?? "", b.protocol ?? ""));
}

/**
 * The ports of a Service that leads to the activators: TCP only, to the declared ports or else to the sandbox's default
 * port.
 */
export function frontPorts(spec: PodSpec): readonly ServicePort[] {
  const { tcp } = known(spec);
  return tcp.length > 0 ? tcp : servicePorts(withoutPorts);
}

const withoutPorts: PodSpec = { containers: [{ name: "", ports: [{ containerPort: fallbackPort }] }] };

/** Whether a Service has these ports. Fields that the server adds, such as nodePort, do not count. */
export const hasPorts = (had: readonly ServicePort[], wanted: readonly ServicePort[]): boolean =>
  had.length === wanted.length && wanted.every((port, at) => isSamePort(had[at], port));

// Not by the comparison of any two objects, which takes half a second for the ports of one Service.
function isSamePort(had: ServicePort | undefined, { name = "", port, protocol, targetPort }: ServicePort): boolean {
  return (
    had !== undefined &&
    had.port === port &&
    (had.name ?? "") === name &&
    (had.protocol || "TCP") === protocol &&
    (had.targetPort ?? had.port) === targetPort
  );
}

function wantedPorts(spec: PodSpec): readonly Wanted[] {
  const wanted = new Map<string, Wanted>();
  for (const { port, protocol, name } of declaredPorts(spec)) {
    const key = `${port}/${protocol}`;
    wanted.set(key, { port, protocol, name: wanted.get(key)?.name ?? (name || undefined) });
  }
  return [...wanted.values()];
}

/** Given names go first, each to the first that asks for it; the rest get generated ones that are still free. */
function nameEach(wanted: readonly Wanted[]): readonly string[] {
  const taken = new Set<string>();
  const given = wanted.map(({ name }) => {
    if (name === undefined || taken.has(name)) return undefined;
    taken.add(name);
    return name;
  });
  // What was tried for one base is not tried again: protocols that differ in case alone share their base.
  const nextCounts = new Map<string, number>();
  return wanted.map(({ port, protocol }, at) => {
    if (given[at] !== undefined) return given[at];
    const base = `p-${port}-${protocol.toLowerCase()}`;
    let count = nextCounts.get(base) ?? 1;
    while (taken.has(numbered(base, count))) count += 1;
    nextCounts.set(base, count + 1);
    taken.add(numbered(base, count));
    return numbered(base, count);
  });
}

const numbered = (base: string, count: number): string => (count === 1 ? base : `${base}-${count}`);
