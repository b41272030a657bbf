import type { Container, HttpGetAction, Pod, Probe } from "../../api/core.ts";
import type { AutoResume } from "../../api/sandbox.ts";

/** A readiness probe that the activator can run itself, faster than the kubelet does. */
export interface OwnProbe {
  readonly port: number;
  /** Absent: the port accepting is all that is asked. */
  readonly httpGet?: Pick<HttpGetAction, "path" | "httpHeaders">;
  readonly timeoutMs: number;
}

export type Readiness =
  /** Once the requested port accepts and these pass. */
  | { readonly is: "probed"; readonly probes: readonly OwnProbe[] }
  /** Only once the kubelet says so. */
  | { readonly is: "podReady" };

/** What must be true before a request goes to a Pod, beside its port accepting (design, `autoResume.readiness`). */
export function readinessOf(pod: Pod, mode: NonNullable<AutoResume["readiness"]>): Readiness {
  if (mode === "PortOpen" || isPodReady(pod)) return { is: "probed", probes: [] };
  if (mode === "PodReady" || (pod.spec?.readinessGates ?? []).length > 0) return { is: "podReady" };
  const probes: OwnProbe[] = [];
  for (const container of [...(pod.spec?.containers ?? []), ...sidecarsOf(pod)]) {
    if (!container.readinessProbe) continue;
    const own = toOwnProbe(container, container.readinessProbe);
    if (!own) return { is: "podReady" };
    probes.push(own);
  }
  return { is: "probed", probes };
}

export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

const sidecarsOf = (pod: Pod) =>
  (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");

// `exec`, `grpc` and HTTPS are the kubelet's. A probe's `host` is ignored: it would let a manifest make us dial anything.
function toOwnProbe(container: Container, probe: Probe): OwnProbe | undefined {
  const { httpGet, tcpSocket } = probe;
  const port = portNumber(container, httpGet?.port ?? tcpSocket?.port);
  if (port === undefined || (httpGet?.scheme ?? "HTTP").toUpperCase() !== "HTTP") return undefined;
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  if (!httpGet) return { port, timeoutMs };
  const { path = "/", httpHeaders = [] } = httpGet;
  return { port, timeoutMs, httpGet: { path: path || "/", httpHeaders } };
}

function portNumber({ ports }: Container, port: number | string | undefined): number | undefined {
  if (typeof port !== "string") return port;
  return ports?.find(({ name }) => name === port)?.containerPort;
}
