import { X509Certificate } from "node:crypto";
import { serviceFqdn } from "../../api/rules/names.ts";
import { type CertificatePair, makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import type { CertificateSet } from "./certificate-secret.ts";
import { backdatedMs, formerAuthoritiesMax, lifetimeMs, livingAuthorities } from "./rotation.ts";

/** The Service under which API servers reach the webhook. */
export interface WebhookService {
  readonly name: string;
  readonly namespace: string;
}

/** What API servers expect the certificate to be for. */
export const serverHostName = ({ name, namespace }: WebhookService): string => `${name}.${namespace}.svc`;

const authorityName = "agent-sandbox-conversion-webhook-ca";

/** An authority and a server certificate signed by it, where there was nothing before. */
export async function makeCertificates(
  service: WebhookService,
  clusterDomain: string,
  now: Date,
): Promise<CertificateSet> {
  const authority = await makeAuthority(authorityName, validity(now));
  const server = await makeServer(authority, service, clusterDomain, now);
  return { authorities: [authority.certificate], authorityKey: authority.key, server };
}

/** The same set under a new authority, which has signed nothing yet. The older ones stay for as long as they live. */
export async function withNewAuthority(set: CertificateSet, now: Date): Promise<CertificateSet> {
  const authority = await makeAuthority(authorityName, validity(now));
  const former = livingAuthorities(set.authorities, now).slice(0, formerAuthoritiesMax);
  return { authorities: [authority.certificate, ...former], authorityKey: authority.key, server: set.server };
}

/** The same set with a server certificate signed by its newest authority. */
export async function withNewServer(
  set: CertificateSet,
  service: WebhookService,
  clusterDomain: string,
  now: Date,
): Promise<CertificateSet> {
  const [certificate] = set.authorities;
  if (certificate === undefined || set.authorityKey === undefined)
    throw new Error("there is no authority to sign with");
  const server = await makeServer({ certificate, key: set.authorityKey }, service, clusterDomain, now);
  return { ...set, server };
}

function makeServer(
  authority: CertificatePair,
  service: WebhookService,
  clusterDomain: string,
  now: Date,
): Promise<CertificatePair> {
  const { name, namespace } = service;
  const hostName = serverHostName(service);
  const { notBefore, notAfter } = validity(now);
  const authorityEnd = new X509Certificate(authority.certificate).validToDate;
  return makeServerCertificate(authority, {
    commonName: hostName,
    dnsNames: [name, `${name}.${namespace}`, hostName, serviceFqdn(name, namespace, clusterDomain)],
    ipAddresses: [],
    // No certificate outlives its authority.
    validity: { notBefore, notAfter: new Date(Math.min(authorityEnd.getTime(), notAfter.getTime())) },
  });
}

const validity = (now: Date) => ({
  notBefore: new Date(now.getTime() - backdatedMs),
  notAfter: new Date(now.getTime() + lifetimeMs),
});
