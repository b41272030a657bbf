// The addresses are in 198.18.0.0/15, which is reserved for benchmarks (RFC 2544), so they hide no real ones.

export const bridgeName = "rouse0";

export const network = {
  serviceRange: "198.18.0.0/16",
  /** The API server's Service: always the first address of the range. */
  kubernetesService: "198.18.0.1",
  dnsService: "198.18.0.10",
  podRange: "198.19.0.0/20",
  podRangeBits: 20,
  /** The bridge's own address: the node's, the API server's, and that of the name server behind the Service above. */
  node: "198.19.0.1",
} as const;

export const nodeName = "rouse-node";
export const clusterDomain = "cluster.local";

/** Unusual ports, so that a cluster can run beside another Kubernetes and beside local mode. */
export const ports = {
  apiServer: 16443,
  etcd: 12379,
  etcdPeer: 12380,
  etcdHealth: 12381,
  controllerManager: 20257,
  scheduler: 20259,
  kubelet: 20250,
  kubeletHealth: 20248,
  proxyHealth: 20256,
  proxyMetrics: 20249,
  dns: 53,
  dnsHealth: 20080,
  dnsMetrics: 20153,
} as const;

export const apiServerUrl = `https://${network.node}:${ports.apiServer}`;
