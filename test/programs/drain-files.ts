import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { drainSecretKeys, drainSecretName } from "../../api/between-programs/drain-credentials.ts";
import { secretType } from "../../api/kinds/core.ts";
import { startDrainCertificates } from "../../controller/suspension/activators/drain-certificates.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";

export interface DrainFilesOptions {
  readonly client: KubeClient;
  /** The namespace of the controller and the activators. */
  readonly namespace: string;
  readonly directory: string;
}

/**
 * Creates the certificates of the drain listener as the first controller does, and writes the files that an activator mounts.
 * Returns the flags with the paths of the files.
 */
export async function writeDrainFiles({ client, namespace, directory }: DrainFilesOptions): Promise<readonly string[]> {
  await using _made = await startDrainCertificates({ client, namespace, clock: systemClock, log: silentLogger });
  const { data = {} } = await client.get(secretType, { namespace, name: drainSecretName });
  const { activatorCertificate, activatorKey, authorities } = drainSecretKeys;
  const files = {
    "drain-tls-cert-file": activatorCertificate,
    "drain-tls-key-file": activatorKey,
    "drain-client-ca-file": authorities,
  };
  return Object.entries(files).map(([flag, key]) => {
    const path = join(directory, key);
    writeFileSync(path, Buffer.from(data[key] ?? "", "base64"));
    return `--${flag}=${path}`;
  });
}
