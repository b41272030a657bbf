import { randomBytes } from "node:crypto";
import { stringify } from "yaml";
import {
  type CertificatePair,
  makeAuthority,
  makeServerCertificate,
  type Validity,
} from "../lib/certificates/certificates.ts";
import type { Clock } from "../lib/time/clock.ts";

/** Credentials that let only the owner of this machine use the API server. */
export interface Credentials {
  /** The CA certificate that clients trust, PEM. */
  readonly authority: string;
  readonly server: CertificatePair;
  readonly token: string;
}

const dayMs = 86_400_000;

/** Longer than any run. */
export function validityFrom(clock: Clock): Validity {
  const nowMs = clock.now().getTime();
  return { notBefore: new Date(nowMs - dayMs), notAfter: new Date(nowMs + 3650 * dayMs) };
}

/**
 * Creates a new CA, server certificate and token at every start. kubectl sends a token only over TLS, so the API server
 * must use TLS. The CA's key is discarded at once, so nothing else can be signed by it.
 */
export async function makeCredentials(clock: Clock): Promise<Credentials> {
  const validity = validityFrom(clock);
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
