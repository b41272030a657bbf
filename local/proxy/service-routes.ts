import { isIPv4 } from "node:net";
import type { Endpoint, EndpointSlice } from "../../api/between-programs/tcp-front.ts";
import type { Service } from "../../api/kinds/core.ts";

/** The address of a program in a Pod, or of an activator. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** An address and port of a Service with its targets, at least one. */
export interface ServiceRoute {
  readonly address: string;
  readonly port: number;
  readonly targets: readonly Target[];
}

/** Of one Service. Each takes a listener of this machine. */
const portsMax = 100;

/**
 * The routes of a Service and its slices: TCP ports of an IPv4 address, each with its ready targets. A port without
 * targets has no route, and its connections are refused. Ports beyond the first `portsMax` have none either.
 */
export function routesOf({ spec }: Service, slices: readonly EndpointSlice[]): readonly ServiceRoute[] {
  const address = spec?.clusterIP;
  if (!address || address === "None" || spec?.type === "ExternalName") return [];
  return (spec?.ports ?? []).slice(0, portsMax).flatMap(({ name = "", port, protocol = "TCP" }) => {
    if (protocol !== "TCP") return [];
    const targets = targetsOf(slices, name);
    return targets.length > 0 ? [{ address, port, targets }] : [];
  });
}

function targetsOf(slices: readonly EndpointSlice[], portName: string): readonly Target[] {
  const ready = targetsWhere(slices, portName, isReady);
  // As in kube-proxy: a terminating endpoint is better than none.
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
    if (found?.port === undefined || !isPort(found.port)) continue;
    for (const { addresses } of endpoints?.filter(counts) ?? []) {
      // The addresses of an endpoint are equivalent; proxies use the first.
      const [host] = addresses;
      if (host && isIPv4(host)) targets.set(`${host}:${found.port}`, { host, port: found.port });
    }
  }
  return [...targets.values()];
}

/** The API takes any number here. */
const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;
