import { chmodSync } from "node:fs";
import { join } from "node:path";
import { drainSecretKeys, drainServerName } from "../api/between-programs/drain-credentials.ts";
import type { DrainCredentials } from "../controller/suspension/activators/drain-client.ts";
import {
  type CertificatePair,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../lib/certificates/certificates.ts";
import { makeFoldersSync } from "../lib/files/make-folders.ts";
import { writeWhole } from "../lib/files/write-whole.ts";
import { validity } from "./credentials.ts";

/** What the two sides of the drain listener prove to each other. */
export interface LocalDrainCredentials {
  readonly activator: CertificatePair;
  readonly controller: DrainCredentials;
}

/**
 * Creates new certificates at every start. Any program and any web page of this machine can reach the drain listener, and who may
 * ask there can stop sandboxes. The keys of the authority and of the controller stay in memory.
 */
export async function makeDrainCredentials(): Promise<LocalDrainCredentials> {
  const authority = await makeAuthority("rouse-local-drain-ca", validity);
  const [activator, controller] = await Promise.all([
    makeServerCertificate(authority, {
      ...{ commonName: drainServerName, dnsNames: [drainServerName], ipAddresses: [] },
      validity,
    }),
    makeClientCertificate(authority, { commonName: "rouse-controller", organizations: [], validity }),
  ]);
  return { activator, controller: { authorities: authority.certificate, ...controller } };
}

/** Writes what the activator needs into the data directory. Returns the flags of the activator that name the files. */
export function writeDrainFiles(
  directory: string,
  { activator, controller }: LocalDrainCredentials,
): readonly string[] {
  const folder = join(directory, "drain");
  makeFoldersSync(folder, 0o700);
  chmodSync(folder, 0o700); // earlier versions gave it no mode
  const write = (flag: string, name: string, pem: string) => {
    const path = join(folder, name);
    writeWhole(path, pem, 0o600);
    return `--${flag}=${path}`;
  };
  return [
    write("drain-tls-cert-file", drainSecretKeys.activatorCertificate, activator.certificate),
    write("drain-tls-key-file", drainSecretKeys.activatorKey, activator.key),
    write("drain-client-ca-file", drainSecretKeys.authorities, controller.authorities),
  ];
}
