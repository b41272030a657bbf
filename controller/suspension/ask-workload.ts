import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import type { HttpGetAction } from "../../api/core.ts";
import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ProbeAnswer } from "./busy-probe.ts";

/** As long as a workload may think about whether it is busy. */
const limitMs = 5_000;

/**
 * Asks the workload in a Pod. The address is the Pod's own, whatever `host` says: the controller reaches places that the
 * owner of a sandbox does not. As with the kubelet's probes, a certificate proves nothing, and no redirect is followed.
 */
export async function askWorkload(
  probe: HttpGetAction,
  { sandbox, pod }: { readonly sandbox: Sandbox; readonly pod: Pod },
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  const host = pod.status?.podIP;
  const port = portOf(probe, sandbox);
  if (!host || port === undefined) return undefined;
  const limit = new AbortController();
  using _timer = clock.after(limitMs, () => limit.abort(new Error("the workload did not answer in time")));
  try {
    return await statusOf(probe, host, port, AbortSignal.any([signal, limit.signal]));
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

function portOf({ port }: HttpGetAction, { spec }: Sandbox): number | undefined {
  const { containers, hostNetwork = false } = spec.podTemplate.spec;
  const declared = containers.flatMap(({ ports = [] }) => ports);
  // With the address of a node, what is not declared may be the node's own.
  if (typeof port === "number" && !hostNetwork) return port;
  return declared.find(({ name, containerPort }) => name === port || containerPort === port)?.containerPort;
}

function statusOf(probe: HttpGetAction, host: string, port: number, signal: AbortSignal): Promise<number> {
  const { path = "/", scheme = "HTTP", httpHeaders = [] } = probe;
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  const options = { host, port, path, headers, agent: false as const, signal };
  return new Promise((resolve, reject) => {
    const took = (response: IncomingMessage) => {
      response.destroy(); // the status is all we asked for
      resolve(response.statusCode ?? 0);
    };
    const call =
      scheme === "HTTPS" ? overHttps({ ...options, rejectUnauthorized: false }, took) : overHttp(options, took);
    call.on("error", reject).end();
  });
}
