import { isIPv6 } from "node:net";
import type { Endpoint, EndpointPort, EndpointSlice, TcpFrontPort } from "../../api/between-programs/tcp-front.ts";
import { byCodeUnits } from "../../lib/data/by-code-units.ts";
import type { SeenActivator } from "./observed-front.ts";

type Family = Exclude<EndpointSlice["addressType"], "FQDN">;

export interface Listed {
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly EndpointPort[];
}

/**
 * The family of addresses of a slice; it cannot be changed, so another family needs another slice. A slice keeps its family
 * while a ready activator has it. Else it gets that of the first ready activator. While none is ready, all count as ready.
 */
export function familyOf(
  activators: readonly SeenActivator[],
  current: EndpointSlice["addressType"] | undefined,
): EndpointSlice["addressType"] | undefined {
  const ready = activators.filter(({ endpoint }) => endpoint.ready);
  const families = (ready.length > 0 ? ready : activators).map(({ endpoint }) => addressFamily(endpoint.address));
  return families.find((family) => family === current) ?? families[0] ?? current;
}

const addressFamily = (address: string): Family => (isIPv6(address) ? "IPv6" : "IPv4");

/**
 * What a slice lists: the ports of the activator that accepts on most, and all that accept on these, for a slice cannot say
 * more of one address than of another. While none is ready, those that are not stay: all at once they are
 * more likely cut off from the API server than from their clients.
 */
export function chooseEndpoints(
  ports: readonly TcpFrontPort[],
  activators: readonly SeenActivator[],
  family: EndpointSlice["addressType"],
): Listed {
  const ofFamily = activators.filter(({ endpoint }) => addressFamily(endpoint.address) === family);
  const listed = listing(
    ports,
    ofFamily.filter(({ endpoint }) => endpoint.ready),
  );
  return listed.endpoints.length > 0 ? listed : listing(ports, ofFamily);
}

function listing(ports: readonly TcpFrontPort[], activators: readonly SeenActivator[]): Listed {
  const portsServedBy = ({ listensOn }: SeenActivator) =>
    ports.filter(({ activatorPort }) => listensOn.has(activatorPort));
  const served = activators.map(portsServedBy).reduce((most, each) => (each.length > most.length ? each : most), []);
  if (served.length === 0) return { endpoints: [], ports: [] };
  const able = activators.filter(({ listensOn }) => served.every(({ activatorPort }) => listensOn.has(activatorPort)));
  return {
    endpoints: able.map(endpointOf).sort((a, b) => byCodeUnits(a.addresses[0] ?? "", b.addresses[0] ?? "")),
    ports: served.map(({ name, activatorPort: port }) => ({ name, port, protocol: "TCP" })),
  };
}

function endpointOf({ endpoint: { address, pod } }: SeenActivator): Endpoint {
  return {
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: false },
    ...(pod && { targetRef: { kind: "Pod", ...pod } }),
  };
}
