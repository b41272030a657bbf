import type { ContainerPort, PodSpec, ServicePort } from "../../api/core.ts";
import { fallbackPort } from "../../api/default-port.ts";
import { byCodeUnits } from "../../lib/by-code-units.ts";

interface Wanted {
  readonly port: number;
  readonly protocol: string;
  /** The first name that a container gave to it. */
  readonly name: string | undefined;
}

/**
 * The ports of the Service in front of a Pod: one for each port and protocol of its containers and sidecars, ordered,
 * each with a name of its own.
 */
export function servicePorts(spec: PodSpec): readonly ServicePort[] {
  const wanted = wantedPorts(spec);
  const names = nameEach(wanted);
  return wanted
    .map(({ port, protocol }, at): ServicePort => ({ name: names[at] ?? "", port, protocol, targetPort: port }))
    .sort((a, b) => a.port - b.port || byCodeUnits(a.protocol ?? "", b.protocol ?? ""));
}

/** The ports of a Service that leads to the activators: they carry TCP, to what is declared or else where a sandbox listens. */
export function frontPorts(spec: PodSpec): readonly ServicePort[] {
  const carried = servicePorts(spec).filter(({ protocol }) => protocol === "TCP");
  return carried.length > 0
    ? carried
    : servicePorts({ containers: [{ name: "", ports: [{ containerPort: fallbackPort }] }] });
}

function wantedPorts({ containers, initContainers = [] }: PodSpec): readonly Wanted[] {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const declared = [...containers, ...sidecars].flatMap(({ ports = [] }): readonly ContainerPort[] => ports);
  const wanted = new Map<string, Wanted>();
  for (const { containerPort: port, protocol: given, name } of declared) {
    if (port === 0) continue;
    const protocol = given || "TCP";
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
  return wanted.map(({ port, protocol }, at) => {
    const name = given[at] ?? freeName(`p-${port}-${protocol.toLowerCase()}`, taken);
    taken.add(name);
    return name;
  });
}

function freeName(base: string, taken: ReadonlySet<string>): string {
  let name = base;
  for (let count = 2; taken.has(name); count += 1) name = `${base}-${count}`;
  return name;
}
