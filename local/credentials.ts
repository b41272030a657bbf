import { randomBytes } from "node:crypto";
import { stringify } from "yaml";
import {
  type CertificatePair,
  makeAuthority,
  makeServerCertificate,
  type Validity,
} from "../lib/certificates/certificates.ts";

/** Credentials that let only the owner of this machine use the API server. */
export interface Credentials {
  /** The CA certificate that clients trust, PEM. */
  readonly authority: string;
  readonly server: CertificatePair;
  readonly token: string;
}

/** Always, from 1970 to the end of 9999: a machine may start with a wrong clock, which is corrected during the run. Only this run trusts these certificates. */
export const validity: Validity = { notBefore: new Date(0), notAfter: new Date(253_402_300_799_000) };

/**
 * Creates a new CA, server certificate and token at every start. kubectl sends a token only over TLS, so the API server
 * must use TLS. The CA's key is discarded at once, so nothing else can be signed by it.
 */
export async function makeCredentials(): Promise<Credentials> {
  const authority = await makeAuthority("rouse-local-ca", validity);
  const server = await makeServerCertificate(authority, {
    commonName: "rouse-local-api",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    validity,
  });
  return { authority: authority.certificate, server, token: randomBytes(32).toString("hex") };
}

/** The text of a kubeconfig whose only user has `token`. */
export function makeKubeconfig(server: string, { authority, token }: Credentials): string {
  const name = "rouse-local";
  const cluster = { server, "certificate-authority-data": Buffer.from(authority).toString("base64") };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  });
}
