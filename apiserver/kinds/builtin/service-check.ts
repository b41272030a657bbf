import { isIP } from "node:net";
import type { Service, ServicePort } from "../../../api/kinds/core.ts";
import type { StatusCause } from "../../../api/kinds/meta.ts";
import { repeatedAt } from "../../../lib/data/repeated-at.ts";
import { labelName } from "../metadata/names.ts";
import { duplicate, invalid, required } from "../schema/causes.ts";
import type { ClusterIps } from "./cluster-ips.ts";
import { checkPortNumber } from "./ports.ts";

/** Faults of a Service beyond the types of its fields, in the words of an API server. */
export function checkService(
  { spec }: Service,
  old: Service | undefined,
  addresses: ClusterIps,
): readonly StatusCause[] {
  if (!spec) return [required("spec.ports")];
  const { ports = [], clusterIP, clusterIPs } = spec;
  const headless = clusterIP === "None";
  return [
    ...(ports.length === 0 && !headless && spec.type !== "ExternalName" ? [required("spec.ports")] : []),
    ...ports.flatMap((port, index) => checkPort(port, `spec.ports[${index}]`, ports.length > 1)),
    ...checkUnique(ports),
    ...checkAddress(clusterIP, clusterIPs, old?.spec, addresses),
  ];
}

function checkPort(
  { name, port, targetPort }: ServicePort,
  field: string,
  nameNeeded: boolean,
): readonly StatusCause[] {
  const nameCauses = name
    ? labelName(name).map((complaint) => invalid(`${field}.name`, name, complaint))
    : nameNeeded
      ? [required(`${field}.name`)]
      : [];
  const targetCauses = typeof targetPort === "number" ? checkPortNumber(targetPort, `${field}.targetPort`) : [];
  return [...nameCauses, ...checkPortNumber(port, `${field}.port`), ...targetCauses];
}

function checkUnique(ports: readonly ServicePort[]): readonly StatusCause[] {
  const repeatedNames = repeatedAt(ports.map(({ name }) => name));
  const repeatedPorts = repeatedAt(ports.map(({ port, protocol }) => `${port} ${protocol}`));
  return ports.flatMap(({ name, port, protocol }, index) => [
    ...(name && repeatedNames.has(index) ? [duplicate(`spec.ports[${index}].name`, name)] : []),
    ...(repeatedPorts.has(index) ? [duplicate(`spec.ports[${index}]`, { port, protocol })] : []),
  ]);
}

function checkAddress(
  clusterIP: string | undefined,
  clusterIPs: readonly string[] | undefined,
  old: Service["spec"],
  addresses: ClusterIps,
): readonly StatusCause[] {
  if (old?.clusterIP) {
    return clusterIP === old.clusterIP ? [] : [invalid("spec.clusterIPs[0]", clusterIPs, "may not change once set")];
  }
  if (!clusterIP || clusterIP === "None") return [];
  if (isIP(clusterIP) === 0) {
    const rule = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    return [invalid("spec.clusterIPs[0]", clusterIP, rule)];
  }
  const refusal = addresses.refusal(clusterIP);
  return refusal ? [invalid("spec.clusterIPs", clusterIPs, `failed to allocate IP ${clusterIP}: ${refusal}`)] : [];
}
