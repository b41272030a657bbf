import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { CertificatePair } from "./certificates.ts";

/** Undefined if the text is no PEM private key. */
export function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/**
 * Whether the key is the private key of the certificate. A person may have replaced one and left the other.
 *
 * @throws Error when the certificate is no PEM certificate.
 */
export function keyFits({ certificate, key }: CertificatePair): boolean {
  const found = privateKeyIn(key);
  return found !== undefined && new X509Certificate(certificate).checkPrivateKey(found);
}
