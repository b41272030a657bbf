import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { certificatesIn } from "../../lib/certificates/certificate-chain.ts";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { ageMs, readClocks } from "../../lib/time/clock-jumps.ts";
import type { KubeConnection, TlsMaterial } from "./connection.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The directory of a Pod's ServiceAccount files. */
export const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
// The kubelet renews a token after four fifths of its hour; other clients in Pods re-read it at this interval.
const tokenAgeMaxMs = 60_000;

/**
 * The connection from inside a Pod, from the variables and files of Kubernetes; undefined outside of a Pod. The token and the CA
 * are re-read every minute by either clock, and after a call that failed for them. This avoids the kubeconfig library, which takes 60 MiB.
 */
export function connectionOfPod(
  environment: Environment,
  { folder = serviceAccountFolder, clock = systemClock }: { readonly folder?: string; readonly clock?: Clock } = {},
): KubeConnection | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  const [tokenFile, authorityFile] = [join(folder, "token"), join(folder, "ca.crt")];
  if (!host || !port || !existsSync(tokenFile) || !existsSync(authorityFile)) return undefined;
  let token = readFileSync(tokenFile, "utf8").trim();
  let tls: TlsMaterial = { ca: readFileSync(authorityFile) };
  let readAt = readClocks(clock);
  let isRefused = false;
  const readAuthority = async () => {
    const ca = await readFile(authorityFile).catch(() => undefined);
    // A CA that changes for a moment into nothing, or into half of itself, would end all calls.
    if (ca && !ca.equals(Buffer.from(tls.ca ?? "")) && hasCertificates(ca)) tls = { ca };
  };
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    get tls() {
      return tls;
    },
    async authHeaders() {
      const now = readClocks(clock);
      if (isRefused || ageMs(readAt, now) >= tokenAgeMaxMs) {
        readAt = now;
        isRefused = false;
        // On a read error the next attempt is in a minute; the current token is valid for longer.
        token = (await readFile(tokenFile, "utf8").catch(() => "")).trim() || token;
        await readAuthority();
      }
      return { authorization: `Bearer ${token}` };
    },
    refused() {
      isRefused = true;
    },
  };
}

function hasCertificates(pem: Buffer): boolean {
  try {
    return certificatesIn(pem.toString()).length > 0;
  } catch {
    return false;
  }
}
