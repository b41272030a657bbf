import { X509Certificate } from "node:crypto";
import { chainTrustedForMs, validForMs } from "../../lib/certificates/certificate-chain.ts";
import type { CertificateSet } from "./certificate-secret.ts";

/** How long authorities and certificates are good for; a little of it lies in the past, for clocks that run late. */
export const backdatedMs = 3_600_000;
export const lifetimeMs = 365 * 24 * 3_600_000;

/** What is within so much of its end is renewed. */
export const renewBeforeMs = 30 * 24 * 3_600_000;
/** The age of an authority before its certificates are used: every API server trusts it then. */
export const settleMs = 10 * 60_000;
/** Watches report changes. This interval is for a role that may not watch. */
export const checkAgainMaxMs = 12 * 3_600_000;
/** How many former authorities a Secret keeps beside the newest: programs whose clocks differ must not make it grow. */
export const formerAuthoritiesMax = 8;

export type RotationStep =
  | { readonly do: "keep"; readonly checkAgainMs: number }
  /** Sign a new server certificate with the authority that there is. */
  | { readonly do: "renewServer" }
  /** Make a new authority beside the old ones; what the server shows stays, if it is good for anything. */
  | { readonly do: "renewAuthority" };

/**
 * What has to happen next to the certificates of a server that clients call `hostName`. A new authority is made known a
 * while before anything is signed by it, so that at every moment every client trusts what any replica shows; only where
 * no client can trust the server as it is, there is nothing to wait for.
 */
export function nextRotationStep(set: CertificateSet, hostName: string, now: Date): RotationStep {
  const trustedForMs = serverTrustedForMs(set, hostName, now);
  if (trustedForMs > renewBeforeMs) {
    return { do: "keep", checkAgainMs: Math.min(trustedForMs - renewBeforeMs, checkAgainMaxMs) };
  }
  const signer = set.authorityKey === undefined ? undefined : newestAuthority(set);
  if (!signer || validForMs(signer, now) <= renewBeforeMs) return { do: "renewAuthority" };
  const settlesInMs = signer.validFromDate.getTime() + backdatedMs + settleMs - now.getTime();
  if (trustedForMs > 0 && settlesInMs > 0) return { do: "keep", checkAgainMs: settlesInMs };
  return { do: "renewServer" };
}

/** The authorities whose certificates a replica may still use. */
export const livingAuthorities = (authorities: readonly string[], now: Date): readonly string[] =>
  authorities.filter((authority) => new X509Certificate(authority).validToDate > now);

function newestAuthority({ authorities }: CertificateSet): X509Certificate | undefined {
  return authorities[0] === undefined ? undefined : new X509Certificate(authorities[0]);
}

/** For how long a client that trusts the authorities, and only them, accepts the server; 0 when it does not now. */
function serverTrustedForMs({ authorities, server }: CertificateSet, hostName: string, now: Date): number {
  const { certificate } = server;
  const isNamed = new X509Certificate(certificate).checkHost(hostName) !== undefined;
  return isNamed ? chainTrustedForMs({ certificate, authorities }, now) : 0;
}
