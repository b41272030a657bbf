import { flag } from "../../../lib/flags/flags.ts";
import { zapFlags } from "../../../lib/flags/zap-flags.ts";

/** Every flag of the node agent. */
export const agentFlags = {
  version: flag.boolean(false, "print the version and exit"),
  kubeconfig: flag.string(
    "",
    "path of a kubeconfig; empty: KUBECONFIG, else ~/.kube/config, else the service account of the Pod",
  ),
  "node-name": flag.string("", "name of the node that the agent runs on; empty: the environment variable NODE_NAME"),
  namespace: flag.string(
    "",
    "namespace of the ConfigMap with the public keys of the controller, which the shim needs; empty: the environment variable POD_NAMESPACE",
  ),
  runsc: flag.string("/usr/local/bin/runsc", "path of the runsc that the shim of the node uses"),
  "runsc-root": flag.string(
    "/run/containerd/runsc/k8s.io",
    "folder in which runsc keeps the state of the Pods of containerd",
  ),
  store: flag.string(
    "/var/lib/rouse",
    "folder of the captured memory; the shim of the node restores from /var/lib/rouse only",
  ),
  "max-store-bytes": flag.integer(
    0,
    "maximum size of all memory images on the node, in bytes; 0: no limit",
    notNegative,
  ),
  "min-free-bytes": flag.integer(
    1_073_741_824,
    "free space that a capture must leave on the disk of the node, in bytes; the larger of --min-free-bytes and --min-free-percent counts",
    notNegative,
  ),
  "min-free-percent": flag.integer(
    15,
    "free space that a capture must leave on the disk of the node, in percent of its size; the kubelet evicts Pods if the disk of container images has less than 15 percent free; the larger of --min-free-bytes and --min-free-percent counts",
    (value) => (value < 0 || value > 100 ? "must be from 0 to 100" : undefined),
  ),
  "max-namespace-percent": flag.integer(
    50,
    "largest share that one namespace may take of the space for all memory images of the node, in percent; 100: no limit",
    (value) => (value < 1 || value > 100 ? "must be from 1 to 100" : undefined),
  ),
  "metrics-bind-address": flag.string(":8080", "address of the metrics listener; 0: disabled"),
  "health-probe-bind-address": flag.string(":8081", "address of the listener for /healthz and /readyz; 0: disabled"),
  ...zapFlags,
};

function notNegative(value: number): string | undefined {
  return value < 0 ? "must not be negative" : undefined;
}
