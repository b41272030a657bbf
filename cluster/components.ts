import type { ToolName } from "../scripts/tools/build-tool.ts";
import type { Command } from "./daemon.ts";
import { type Gvisor, withShim } from "./gvisor.ts";
import type { Layout } from "./layout.ts";
import { network, nodeName, ports } from "./network.ts";

/** One program of the cluster that runs in the background. */
export interface Component {
  readonly name: string;
  readonly command: Command;
  /** The files of `settings/` that it reads at its start. */
  readonly reads: readonly string[];
  /** A URL that answers 200, or a command that succeeds, once the component is ready. */
  readonly health: { readonly url: string } | { readonly command: Command };
}

export interface BuiltPrograms extends Readonly<Record<ClusterProgram, string>> {
  /** Absent in a cluster without gVisor. */
  readonly gvisor?: Gvisor;
}
export type ClusterProgram = (typeof clusterPrograms)[number];

export const clusterPrograms = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "coredns",
  "kubectl",
  "helm",
] as const satisfies readonly ToolName[];

/** The components that the API server needs. */
export function foundations(layout: Layout, programs: BuiltPrograms): readonly Component[] {
  return [etcd(layout, programs.etcd), containerd(layout, programs.gvisor)];
}

/** The clients of the API server. */
export function apiServerClients(layout: Layout, programs: BuiltPrograms): readonly Component[] {
  return [
    controllerManager(layout, programs["kube-controller-manager"]),
    scheduler(layout, programs["kube-scheduler"]),
    kubelet(layout, programs.kubelet),
    proxy(layout, programs["kube-proxy"]),
    coredns(layout, programs.coredns),
  ];
}

/** `{ "a-flag": "x" }` as `--a-flag=x`. */
const flagsOf = (flags: Readonly<Record<string, string | number | boolean>>): readonly string[] =>
  Object.entries(flags).map(([name, value]) => `--${name}=${value}`);

const etcd = (layout: Layout, program: string): Component => ({
  name: "etcd",
  command: {
    program,
    args: flagsOf({
      name: "rouse",
      "data-dir": layout.etcd,
      // No fsync: a test cluster may lose its last writes in a power failure.
      "unsafe-no-fsync": true,
      // As kubeadm does. Without it, watches of kinds without changes get no bookmarks for ten minutes.
      "watch-progress-notify-interval": "5s",
      "listen-client-urls": `https://127.0.0.1:${ports.etcd}`,
      "advertise-client-urls": `https://127.0.0.1:${ports.etcd}`,
      "listen-peer-urls": `http://127.0.0.1:${ports.etcdPeer}`,
      "initial-advertise-peer-urls": `http://127.0.0.1:${ports.etcdPeer}`,
      "initial-cluster": `rouse=http://127.0.0.1:${ports.etcdPeer}`,
      "listen-metrics-urls": `http://127.0.0.1:${ports.etcdHealth}`,
      "cert-file": layout.pki("etcd.crt"),
      "key-file": layout.pki("etcd.key"),
      "client-cert-auth": true,
      "trusted-ca-file": layout.pki("ca.crt"),
    }),
  },
  reads: [],
  health: { url: `http://127.0.0.1:${ports.etcdHealth}/health` },
});

function containerd(layout: Layout, gvisor: Gvisor | undefined): Component {
  const command = { program: "containerd", args: ["--config", layout.settings("containerd.toml")] };
  return {
    name: "containerd",
    command: gvisor ? withShim(layout, command) : command,
    reads: ["containerd.toml", "cni/10-rouse.conflist"],
    health: { command: { program: "ctr", args: ["version"] } },
  };
}

export const apiServer = (layout: Layout, programs: BuiltPrograms): Component => ({
  name: "kube-apiserver",
  command: {
    program: programs["kube-apiserver"],
    args: flagsOf({
      "bind-address": network.node,
      "advertise-address": network.node,
      "secure-port": ports.apiServer,
      "etcd-servers": `https://127.0.0.1:${ports.etcd}`,
      "etcd-cafile": layout.pki("ca.crt"),
      "etcd-certfile": layout.pki("apiserver-client.crt"),
      "etcd-keyfile": layout.pki("apiserver-client.key"),
      "tls-cert-file": layout.pki("apiserver.crt"),
      "tls-private-key-file": layout.pki("apiserver.key"),
      "client-ca-file": layout.pki("ca.crt"),
      "kubelet-certificate-authority": layout.pki("ca.crt"),
      "kubelet-client-certificate": layout.pki("apiserver-client.crt"),
      "kubelet-client-key": layout.pki("apiserver-client.key"),
      "kubelet-preferred-address-types": "InternalIP",
      "service-account-issuer": "https://kubernetes.default.svc",
      "service-account-key-file": layout.pki("service-accounts.crt"),
      "service-account-signing-key-file": layout.pki("service-accounts.key"),
      "service-cluster-ip-range": network.serviceRange,
      "authorization-mode": "Node,RBAC",
      // The second is off by default. Clusters that enable it reject owner references that others accept.
      "enable-admission-plugins": "NodeRestriction,OwnerReferencesPermissionEnforcement",
      "audit-policy-file": layout.settings("audit.yaml"),
      "audit-log-path": layout.auditLog,
      "audit-log-maxsize": 200,
      "audit-log-maxbackup": 3,
      "allow-privileged": true,
    }),
  },
  reads: ["audit.yaml"],
  health: {
    command: {
      program: programs.kubectl,
      args: [`--kubeconfig=${layout.kubeconfig("admin")}`, "get", "--raw=/readyz"],
    },
  },
});

const controllerManager = (layout: Layout, program: string): Component => ({
  name: "kube-controller-manager",
  command: {
    program,
    args: flagsOf({
      kubeconfig: layout.kubeconfig("controller-manager"),
      "bind-address": "127.0.0.1",
      "secure-port": ports.controllerManager,
      "use-service-account-credentials": true,
      "service-account-private-key-file": layout.pki("service-accounts.key"),
      "root-ca-file": layout.pki("ca.crt"),
      "cluster-signing-cert-file": layout.pki("ca.crt"),
      "cluster-signing-key-file": layout.pki("ca.key"),
      "enable-hostpath-provisioner": true,
      "leader-elect": false,
    }),
  },
  reads: [],
  health: { url: `https://127.0.0.1:${ports.controllerManager}/healthz` },
});

const scheduler = (layout: Layout, program: string): Component => ({
  name: "kube-scheduler",
  command: {
    program,
    args: flagsOf({
      kubeconfig: layout.kubeconfig("scheduler"),
      "bind-address": "127.0.0.1",
      "secure-port": ports.scheduler,
      "leader-elect": false,
    }),
  },
  reads: [],
  health: { url: `https://127.0.0.1:${ports.scheduler}/healthz` },
});

const kubelet = (layout: Layout, program: string): Component => ({
  name: "kubelet",
  command: {
    program,
    args: flagsOf({
      config: layout.settings("kubelet.yaml"),
      kubeconfig: layout.kubeconfig("kubelet"),
      "hostname-override": nodeName,
      "node-ip": network.node,
    }),
  },
  reads: ["kubelet.yaml"],
  health: { url: `http://127.0.0.1:${ports.kubeletHealth}/healthz` },
});

const proxy = (layout: Layout, program: string): Component => ({
  name: "kube-proxy",
  command: { program, args: flagsOf({ config: layout.settings("kube-proxy.yaml") }) },
  reads: ["kube-proxy.yaml"],
  health: { url: `http://127.0.0.1:${ports.proxyHealth}/healthz` },
});

const coredns = (layout: Layout, program: string): Component => ({
  name: "coredns",
  command: { program, args: ["-conf", layout.settings("Corefile")] },
  reads: ["Corefile"],
  health: { url: `http://127.0.0.1:${ports.dnsHealth}/health` },
});
