import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import {
  type CertificatePair,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
  type Validity,
} from "../../lib/certificates/certificates.ts";
import { keyFits } from "../../lib/certificates/private-key.ts";
import { writeWhole } from "../../lib/files/write-whole.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Layout } from "../layout.ts";
import { apiServerUrl, clusterDomain, network, nodeName } from "../network.ts";

const dayMs = 86_400_000;
// Longer than the life of a test cluster; nothing renews these certificates.
const validDays = 365;

/** The users that get a kubeconfig, and their groups, as named in the API server's default roles. */
const users: Readonly<Record<string, { readonly commonName: string; readonly organizations: readonly string[] }>> = {
  admin: { commonName: "kubernetes-admin", organizations: ["system:masters"] },
  "controller-manager": { commonName: "system:kube-controller-manager", organizations: [] },
  scheduler: { commonName: "system:kube-scheduler", organizations: [] },
  proxy: { commonName: "system:kube-proxy", organizations: [] },
  dns: { commonName: "system:coredns", organizations: [] },
  kubelet: { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] },
};

/** Creates the missing certificates and kubeconfigs of the cluster. */
export async function makeCredentials(layout: Layout, clock: Clock): Promise<void> {
  // From the beginning: the clock may be ahead now, and corrected later.
  const notAfter = new Date(clock.now().getTime() + validDays * dayMs);
  const validity = { notBefore: new Date(0), notAfter };
  const authority = await kept(layout, "ca", keyFits, () => makeAuthority("rouse-cluster", validity));
  const issuer = new X509Certificate(authority.certificate).publicKey;
  const isOurs = (pair: CertificatePair) => keyFits(pair) && new X509Certificate(pair.certificate).verify(issuer);
  const make = (name: string, makePair: () => Promise<CertificatePair>) => kept(layout, name, isOurs, makePair);
  const servers = serverRequests(validity);
  for (const [name, request] of Object.entries(servers)) {
    await make(name, () => makeServerCertificate(authority, request));
  }
  const client = { commonName: "kube-apiserver", organizations: ["system:masters"], validity };
  await make("apiserver-client", () => makeClientCertificate(authority, client));
  for (const [name, user] of Object.entries(users)) {
    const pair = await make(name, () => makeClientCertificate(authority, { ...user, validity }));
    writeSecret(layout.kubeconfig(name), kubeconfig(name, authority.certificate, pair));
  }
}

const serverRequests = (validity: Validity) => ({
  apiserver: {
    commonName: "kube-apiserver",
    dnsNames: [
      "localhost",
      "kubernetes",
      "kubernetes.default",
      "kubernetes.default.svc",
      `kubernetes.default.svc.${clusterDomain}`,
    ],
    ipAddresses: [network.node, network.kubernetesService, "127.0.0.1"],
    validity,
  },
  etcd: { commonName: "etcd", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], validity },
  "kubelet-server": { commonName: nodeName, dnsNames: [nodeName], ipAddresses: [network.node], validity },
  // A key pair only: its key signs the tokens of ServiceAccounts, its certificate checks them.
  "service-accounts": { commonName: "service-accounts", dnsNames: ["unused"], ipAddresses: [], validity },
});

/** The pair of that name in the files. It is created if it is missing, or not whole, for example after a power failure. */
async function kept(
  layout: Layout,
  name: string,
  isRight: (pair: CertificatePair) => boolean,
  make: () => Promise<CertificatePair>,
): Promise<CertificatePair> {
  const certificateFile = layout.pki(`${name}.crt`);
  const keyFile = layout.pki(`${name}.key`);
  if (existsSync(certificateFile) && existsSync(keyFile)) {
    const pair = { certificate: readFileSync(certificateFile, "utf8"), key: readFileSync(keyFile, "utf8") };
    if (isCertificate(pair.certificate) && isRight(pair)) return pair;
  }
  const pair = await make();
  writeSecret(keyFile, pair.key);
  // Written last: a certificate without its key is created again.
  writeWhole(certificateFile, pair.certificate, 0o644);
  return pair;
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== "";
  } catch {
    return false;
  }
}

const writeSecret = (path: string, text: string) => writeWhole(path, text, 0o600);

/** A kubeconfig in JSON, which is valid YAML. */
function kubeconfig(user: string, authority: string, pair: CertificatePair): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const name = "rouse";
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: apiServerUrl, "certificate-authority-data": base64(authority) } }],
    users: [
      {
        name: user,
        user: { "client-certificate-data": base64(pair.certificate), "client-key-data": base64(pair.key) },
      },
    ],
    contexts: [{ name, context: { cluster: name, user } }],
    "current-context": name,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
