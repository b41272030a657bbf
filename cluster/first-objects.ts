import { network, ports } from "./network.ts";

const dns = { name: "kube-dns", namespace: "kube-system" };
const dnsPorts = [
  { name: "dns", port: ports.dns, protocol: "UDP" },
  { name: "dns-tcp", port: ports.dns, protocol: "TCP" },
];
const reader = { name: "system:coredns" };

/** Objects that clusters usually have and that no component creates. */
export const firstObjects: readonly object[] = [
  // The name server runs on the node. The Service of the name server has no selector, so its endpoint is written here.
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
  // The controller manager's own provisioner creates a directory for each claim and removes it with the claim. So
  // volumes have the life cycle of a real cluster's, unlike volumes created in advance.
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "host-path", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "kubernetes.io/host-path",
    reclaimPolicy: "Delete",
    // A Pod that is scheduled while its claim is being bound may wait 15 s for the kubelet's next check.
    volumeBindingMode: "WaitForFirstConsumer",
  },
];
