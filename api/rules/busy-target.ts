import { isPort } from "../../lib/net/is-port.ts";
import type { Container, Pod, PodSpec } from "../kinds/pod.ts";
import type { SandboxSpec } from "../kinds/sandbox.ts";
import { effectiveAutoSuspension } from "./defaults.ts";
import { isSmallRequest } from "./probe-request.ts";

/** The address and the request of a sandbox's busy probe. */
export interface BusyTarget {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly scheme: "HTTP" | "HTTPS";
  readonly headers: Readonly<Record<string, string>>;
}

/** What is read of a Sandbox. */
interface Probed {
  readonly spec: Pick<SandboxSpec, "autoSuspension"> & {
    readonly podTemplate: {
      readonly spec: Pick<PodSpec, "hostNetwork"> & { readonly containers: readonly Pick<Container, "ports">[] };
    };
  };
}

/**
 * The target of a sandbox's busy probe in one Pod; undefined if there is none. The address is the Pod's own, and the
 * probe's `host` is ignored: our programs reach addresses that the owner of a sandbox does not. A Pod that has ended
 * has no address: another Pod may have it by now. If a Pod has the address of its node, a port that it does not declare
 * may be the node's own. A large request is not sent.
 */
export function busyTargetOf(sandbox: Probed, { spec, status = {} }: Pod): BusyTarget | undefined {
  const probe = effectiveAutoSuspension(sandbox.spec).busyProbe?.httpGet;
  const host = status.podIP || status.podIPs?.find(({ ip }) => ip)?.ip;
  if (!probe || !host || status.phase === "Succeeded" || status.phase === "Failed") return undefined;
  if (!isSmallRequest(probe)) return undefined;
  const template = sandbox.spec.podTemplate.spec;
  const isOfNode = spec?.hostNetwork === true || template.hostNetwork === true;
  // The controller's store has the containers of a Pod only if it needs them.
  const containers = spec?.hostNetwork || spec?.containers.length ? spec.containers : template.containers;
  const declared = containers.flatMap(({ ports = [] }) => ports);
  const { path, scheme, httpHeaders = [] } = probe;
  const own = declared.find(({ name, containerPort }) => name === probe.port || containerPort === probe.port);
  const port = typeof probe.port === "number" && !isOfNode ? probe.port : own?.containerPort;
  if (!isPort(port)) return undefined;
  return {
    host,
    port,
    path: path || "/",
    scheme: scheme?.toUpperCase() === "HTTPS" ? "HTTPS" : "HTTP",
    headers: Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value])),
  };
}
