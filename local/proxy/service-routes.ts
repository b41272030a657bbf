import type { Service } from "../../api/core.ts";
import type { Endpoint, EndpointSlice } from "../../api/tcp-front.ts";

/** Where a program of a Pod listens, or whoever stands for it. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** Who connects to this address and port is led to one of these targets, of which there is at least one. */
export interface ServiceRoute {
  readonly address: string;
  readonly port: number;
  readonly targets: readonly Target[];
}

/**
 * What a Service and its slices ask of a proxy on this machine: TCP ports of an IPv4 address, each with what is ready
 * behind it. A port with nothing behind it has no route, and who connects to it is refused.
 */
export function routesOf({ spec }: Service, slices: readonly EndpointSlice[]): readonly ServiceRoute[] {
  const address = spec?.clusterIP;
  if (!address || address === "None" || spec?.type === "ExternalName") return [];
  return (spec?.ports ?? []).flatMap(({ name = "", port, protocol = "TCP" }) => {
    if (protocol !== "TCP") return [];
    const targets = targetsOf(slices, name);
    return targets.length > 0 ? [{ address, port, targets }] : [];
  });
}

function targetsOf(slices: readonly EndpointSlice[], portName: string): readonly Target[] {
  const ready = targetsWhere(slices, portName, isReady);
  // As kube-proxy does: what is on its way out serves better than nothing.
  return ready.length > 0 ? ready : targetsWhere(slices, portName, isLeaving);
}

/** Unknown means ready, by the rules of the API. */
const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false;
const isLeaving = ({ conditions }: Endpoint): boolean =>
  conditions?.serving === true && conditions.terminating === true;

function targetsWhere(
  slices: readonly EndpointSlice[],
  portName: string,
  counts: (endpoint: Endpoint) => boolean,
): readonly Target[] {
  const targets = new Map<string, Target>();
  for (const { addressType, endpoints, ports } of slices) {
    if (addressType !== "IPv4") continue;
    const found = ports?.find(({ name = "", protocol = "TCP" }) => name === portName && protocol === "TCP");
    if (found?.port === undefined) continue;
    for (const { addresses } of endpoints?.filter(counts) ?? []) {
      // Addresses of one endpoint are one and the same thing; proxies use the first.
      const [host] = addresses;
      if (host) targets.set(`${host}:${found.port}`, { host, port: found.port });
    }
  }
  return [...targets.values()];
}
