import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { KubeConnection } from "./connection.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a kubelet puts what a Pod has of its ServiceAccount. */
export const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
// The kubelet renews a token when four fifths of its hour are over; others that run in Pods look as often.
const tokenAgeMaxMs = 60_000;

/**
 * The connection of the Pod that we run in, by the variables and the files that Kubernetes gives to each; undefined outside of one.
 * The token is read again each minute, the authority once. A kubeconfig's many ways would do it too, for 60 MiB.
 */
export function connectionOfPod(
  environment: Environment,
  { folder = serviceAccountFolder, clock = systemClock }: { readonly folder?: string; readonly clock?: Clock } = {},
): KubeConnection | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  const [tokenFile, authorityFile] = [join(folder, "token"), join(folder, "ca.crt")];
  if (!host || !port || !existsSync(tokenFile) || !existsSync(authorityFile)) return undefined;
  let token = readFileSync(tokenFile, "utf8").trim();
  let readMs = clock.ticksMs();
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    tls: { ca: readFileSync(authorityFile) },
    async authHeaders() {
      const nowMs = clock.ticksMs();
      if (nowMs - readMs >= tokenAgeMaxMs) {
        readMs = nowMs;
        // What cannot be read now is read in a minute; the one that we have is good for longer.
        token = (await readFile(tokenFile, "utf8").catch(() => "")).trim() || token;
      }
      return { authorization: `Bearer ${token}` };
    },
  };
}
