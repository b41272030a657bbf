import { network, ports } from "./network.ts";

const dns = { name: "kube-dns", namespace: "kube-system" };
const dnsPorts = [
  { name: "dns", port: ports.dns, protocol: "UDP" },
  { name: "dns-tcp", port: ports.dns, protocol: "TCP" },
];
const reader = { name: "system:coredns" };

/** What a cluster is expected to have and no component makes by itself. */
export const firstObjects: readonly object[] = [
  // The name server runs on the node; the Service that Pods ask has no selector, so its endpoint is written here.
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...dns, labels: { "k8s-app": "kube-dns" } },
    spec: { clusterIP: network.dnsService, ports: dnsPorts },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...dns, labels: { "kubernetes.io/service-name": dns.name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [network.node], conditions: { ready: true } }],
    ports: dnsPorts,
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: reader,
    rules: [
      { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: reader,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: reader.name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:coredns" }],
  },
  // The controller manager's own provisioner makes a directory per claim and removes it with the claim: the life of a
  // volume is that of a real cluster, which volumes made in advance would not show.
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "host-path", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "kubernetes.io/host-path",
    reclaimPolicy: "Delete",
    // A Pod that is scheduled while its claim is being bound may wait a quarter of a minute for the kubelet to look again.
    volumeBindingMode: "WaitForFirstConsumer",
  },
];
