import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { containerdRuntime, type Gvisor, runscSettings, runscSettingsFile } from "./gvisor.ts";
import type { Layout } from "./layout.ts";
import { podsCgroup } from "./machine/cgroup.ts";
import { bridgeName, clusterDomain, network, nodeName, ports } from "./network.ts";

export const pauseImage = "rouse.local/pause:1";

/** The files that the components read at their start, by name. Most are JSON, which is valid YAML. */
export function settingsFiles(layout: Layout, gvisor?: Gvisor): Readonly<Record<string, string>> {
  const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;
  return {
    "containerd.toml": containerdSettings(layout) + (gvisor ? containerdRuntime(layout) : ""),
    ...(gvisor && { [runscSettingsFile]: runscSettings(gvisor) }),
    "cni/10-rouse.conflist": json(cniSettings),
    "kubelet.yaml": json(kubeletSettings(layout)),
    "kube-proxy.yaml": json(proxySettings(layout)),
    "audit.yaml": json(auditPolicy),
    Corefile: corefile(layout),
    "image-policy.json": json({ default: [{ type: "insecureAcceptAnything" }] }),
  };
}

/** Writes the files that are missing or differ: kube-proxy exits if its file is written, even with the same content. */
export function writeSettings(layout: Layout, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = layout.settings(name);
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
  }
}

const containerdSettings = (layout: Layout) => `version = 2
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # Without CAP_SYS_RESOURCE a process may not lower its own OOM score, and runc dies trying.
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${layout.settings("cni")}"
`;

const cniSettings = {
  cniVersion: "1.0.0",
  name: "rouse",
  plugins: [
    {
      type: "bridge",
      bridge: bridgeName,
      isGateway: true,
      // Lets a Pod reach itself through its own Service.
      hairpinMode: true,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: network.podRange, gateway: network.node }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

const kubeletSettings = (layout: Layout) => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  address: network.node,
  port: ports.kubelet,
  healthzBindAddress: "127.0.0.1",
  healthzPort: ports.kubeletHealth,
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: layout.pki("ca.crt") },
  },
  authorization: { mode: "Webhook" },
  tlsCertFile: layout.pki("kubelet-server.crt"),
  tlsPrivateKeyFile: layout.pki("kubelet-server.key"),
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  clusterDNS: [network.dnsService],
  clusterDomain,
  // Pods resolve only names of the cluster.
  resolvConf: "",
  cgroupDriver: "cgroupfs",
  cgroupRoot: podsCgroup,
  failCgroupV1: false,
  failSwapOn: false,
  enforceNodeAllocatable: [],
  makeIPTablesUtilChains: false,
  maxPods: 500,
  serializeImagePulls: false,
  // Never collect images: they were imported by hand and cannot be pulled again. A full disk must not evict Pods.
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  evictionHard: { "memory.available": "100Mi" },
});

const proxySettings = (layout: Layout) => ({
  apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
  kind: "KubeProxyConfiguration",
  mode: "nftables",
  clientConnection: { kubeconfig: layout.kubeconfig("proxy") },
  clusterCIDR: network.podRange,
  hostnameOverride: nodeName,
  healthzBindAddress: `127.0.0.1:${ports.proxyHealth}`,
  metricsBindAddress: `127.0.0.1:${ports.proxyMetrics}`,
  // Zero leaves the machine's own settings as they are.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
});

/** User, verb and object of each request, without bodies, once per request. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

const corefile = (layout: Layout) => `.:${ports.dns} {
  bind ${network.node}
  errors
  health 127.0.0.1:${ports.dnsHealth}
  kubernetes ${clusterDomain} {
    kubeconfig ${layout.kubeconfig("dns")}
    pods verified
    ttl 5
  }
}
`;
