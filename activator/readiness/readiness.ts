import type { Container, HttpGetAction, Pod, Probe } from "../../api/kinds/core.ts";
import type { AutoResume } from "../../api/kinds/sandbox.ts";
import { isSmallRequest } from "../../api/rules/probe-request.ts";
import { isPort } from "../../lib/net/is-port.ts";

/** A readiness probe that the activator can run itself, sooner than the kubelet. */
export interface OwnProbe {
  readonly port: number;
  /** Absent: only the port must accept. */
  readonly httpGet?: Pick<HttpGetAction, "path" | "httpHeaders">;
  readonly timeoutMs: number;
}

/**
 * The maximum number of such probes. With more, a Pod waits for the kubelet, as with probes that the activator cannot run: each
 * attempt runs all of them, at the cost of other sandboxes.
 */
const ownProbesMax = 16;

export type Readiness =
  /** Ready once the requested port accepts and these probes pass. */
  | { readonly is: "probed"; readonly probes: readonly OwnProbe[] }
  /** Ready once the kubelet reports it. */
  | { readonly is: "podReady" };

/** The conditions of a dispatch to a Pod besides an accepting port (`autoResume.readiness`). */
export function readinessOf(pod: Pod, mode: NonNullable<AutoResume["readiness"]>): Readiness {
  if (mode === "PortOpen" || isPodReady(pod)) return { is: "probed", probes: [] };
  if (mode === "PodReady" || (pod.spec?.readinessGates ?? []).length > 0) return { is: "podReady" };
  const probes: OwnProbe[] = [];
  for (const container of [...(pod.spec?.containers ?? []), ...sidecarsOf(pod)]) {
    if (!container.readinessProbe) continue;
    const own = toOwnProbe(container, container.readinessProbe);
    if (!own) return { is: "podReady" };
    probes.push(own);
    if (probes.length > ownProbesMax) return { is: "podReady" };
  }
  return { is: "probed", probes };
}

export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

const sidecarsOf = (pod: Pod) =>
  (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");

// The kubelet runs `exec`, `grpc`, HTTPS, and large requests. A probe's `host` is ignored: a manifest could make the activator dial any address.
function toOwnProbe(container: Container, probe: Probe): OwnProbe | undefined {
  const { httpGet, tcpSocket } = probe;
  const port = portNumber(container, httpGet?.port ?? tcpSocket?.port);
  if (!isPort(port) || (httpGet?.scheme ?? "HTTP").toUpperCase() !== "HTTP") return undefined;
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  if (!httpGet) return { port, timeoutMs };
  if (!isSmallRequest(httpGet)) return undefined;
  const { path = "/", httpHeaders = [] } = httpGet;
  return { port, timeoutMs, httpGet: { path: path || "/", httpHeaders } };
}

function portNumber({ ports }: Container, port: number | string | undefined): number | undefined {
  if (typeof port !== "string") return port;
  return ports?.find(({ name }) => name === port)?.containerPort;
}
