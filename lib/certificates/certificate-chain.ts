import { X509Certificate } from "node:crypto";

/** Every certificate of a PEM text, one for each entry. They may be malformed. */
export function certificatesIn(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

export interface CertificateChain {
  /** PEM, one certificate. */
  readonly certificate: string;
  /** PEM, one for each entry. One of them signed the certificate directly, without an intermediate CA. */
  readonly authorities: readonly string[];
}

/**
 * The milliseconds for which a peer that trusts only these CAs accepts the certificate; 0 if it is not valid now. A
 * peer checks the validity of each certificate of the chain, both ends of it (RFC 5280, section 6.1.3): a certificate
 * from a clock ahead of time is as unusable as an expired one.
 *
 * @throws Error when a text is not a PEM certificate.
 */
export function chainTrustedForMs({ certificate, authorities }: CertificateChain, now: Date): number {
  const shown = new X509Certificate(certificate);
  const issuers = authorities
    .map((authority) => new X509Certificate(authority))
    .filter((authority) => shown.checkIssued(authority) && shown.verify(authority.publicKey));
  const issuersMs = issuers.map((issuer) => validForMs(issuer, now));
  return Math.min(validForMs(shown, now), Math.max(0, ...issuersMs));
}

/** The milliseconds for which a certificate remains valid; 0 if it is not valid now. */
export function validForMs({ validFromDate, validToDate }: X509Certificate, now: Date): number {
  return validFromDate > now ? 0 : Math.max(0, validToDate.getTime() - now.getTime());
}
