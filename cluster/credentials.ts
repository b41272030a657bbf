import { existsSync, readFileSync, writeFileSync } from "node:fs";
import {
  type CertificatePair,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
  type Validity,
} from "../lib/certificates/certificates.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Layout } from "./layout.ts";
import { apiServerUrl, clusterDomain, network, nodeName } from "./network.ts";

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
  const now = clock.now().getTime();
  const validity = { notBefore: new Date(now - dayMs), notAfter: new Date(now + validDays * dayMs) };
  const make = keeper(layout);
  const authority = await make("ca", () => makeAuthority("rouse-cluster", validity));
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

/** Creates the pair of a name, or reads the existing one. */
function keeper(layout: Layout) {
  return async (name: string, make: () => Promise<CertificatePair>): Promise<CertificatePair> => {
    const certificateFile = layout.pki(`${name}.crt`);
    const keyFile = layout.pki(`${name}.key`);
    if (existsSync(certificateFile) && existsSync(keyFile)) {
      return { certificate: readFileSync(certificateFile, "utf8"), key: readFileSync(keyFile, "utf8") };
    }
    const pair = await make();
    writeSecret(keyFile, pair.key);
    // Written last: a certificate without its key is created again.
    writeFileSync(certificateFile, pair.certificate);
    return pair;
  };
}

const writeSecret = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 });

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
