import { X509Certificate } from "node:crypto";
import type { Secret } from "../../api/kinds/core.ts";
import { certificatesIn } from "../../lib/certificates/certificate-chain.ts";
import type { CertificatePair } from "../../lib/certificates/certificates.ts";
import { keyFits, privateKeyIn } from "../../lib/certificates/private-key.ts";

/** What the webhook's Secret holds: who vouches for the webhook, and what the webhook shows. */
export interface CertificateSet {
  /** PEM, one to an entry: the newest authority, then those whose certificates may still be shown by some replica. */
  readonly authorities: readonly string[];
  /** PEM: the key of the newest authority. Secrets that others have made do not have it. */
  readonly authorityKey: string | undefined;
  readonly server: CertificatePair;
}

/** The Secret exists, but is not usable; the message says what to do about it. */
export class UnusableSecret extends Error {
  override readonly name = "UnusableSecret";
}

/** @throws UnusableSecret when a part is missing, is no PEM, or does not fit the others. */
export function readCertificateSecret(secret: Secret): CertificateSet {
  const { namespace = "", name = "" } = secret.metadata;
  const unusable = (why: string) =>
    new UnusableSecret(`Secret ${namespace}/${name}: ${why}; delete it, and a new one is made at the next start`);
  const part = (key: string): string => Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");

  const authorities = certificatesIn(part("ca.crt"));
  if (authorities.length === 0 || !authorities.every(isCertificate)) throw unusable("ca.crt holds no PEM certificate");
  const server = { certificate: part("tls.crt"), key: part("tls.key") };
  if (!isCertificate(server.certificate)) throw unusable("tls.crt holds no PEM certificate");
  if (!privateKeyIn(server.key)) throw unusable("tls.key holds no PEM private key");
  if (!keyFits(server)) throw unusable("tls.key is not the key of tls.crt");
  return { authorities, authorityKey: keyOf(authorities[0], part("ca.key")), server };
}

/** As `data` of the Secret. `ca.key` is ours; everything else is as existing installations have it. */
export function certificateSecretData({ authorities, authorityKey, server }: CertificateSet): Record<string, string> {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  return {
    "ca.crt": base64(authorityBundle(authorities)),
    "tls.crt": base64(server.certificate),
    "tls.key": base64(server.key),
    ...(authorityKey !== undefined && { "ca.key": base64(authorityKey) }),
  };
}

const authorityBundle = (authorities: readonly string[]): string =>
  authorities.map((authority) => `${authority.trim()}\n`).join("");

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

/** The key, if it is the one of this authority. */
function keyOf(authority: string | undefined, pem: string): string | undefined {
  return authority !== undefined && keyFits({ certificate: authority, key: pem }) ? pem : undefined;
}
