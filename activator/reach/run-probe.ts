import { request } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import type { OwnProbe } from "../sandbox/readiness.ts";
import { dial } from "./dial.ts";

/** Whether a readiness probe passes now, by the kubelet's rules: a connection, or an answer from 200 to 399. */
export async function passes(ip: string, probe: OwnProbe, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const limit = new AbortController();
  using _timer = clock.after(probe.timeoutMs, () => limit.abort(new Error("the probe took too long")));
  const either = AbortSignal.any([signal, limit.signal]);
  try {
    if (probe.httpGet) return await answersWell(ip, probe, probe.httpGet, either);
    (await dial({ ip, port: probe.port }, probe.timeoutMs, clock, either)).destroy();
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

function answersWell(
  ip: string,
  { port }: OwnProbe,
  { path = "/", httpHeaders = [] }: NonNullable<OwnProbe["httpGet"]>,
  signal: AbortSignal,
): Promise<boolean> {
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  return new Promise((resolve, reject) => {
    const probe = request({ host: ip, port, path, headers, agent: false, signal }, (response) => {
      const { statusCode = 0 } = response;
      response.destroy(); // the status is all we asked for
      resolve(statusCode >= 200 && statusCode < 400);
    });
    probe.on("error", reject).end();
  });
}
