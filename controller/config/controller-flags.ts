import { drainPortDefault } from "../../api/between-programs/drain-credentials.ts";
import { tcpFrontPortsPerNamespaceMax, usualQuarantineMs } from "../../api/between-programs/tcp-front.ts";
import { usualLeaseTimes } from "../../kube/leader/leader-election.ts";
import { flag } from "../../lib/flags/flags.ts";
import { zapFlags } from "../../lib/flags/zap-flags.ts";
import { collectorHelp } from "../../lib/tracing/collector-address.ts";
import { usualVanishGraceMs } from "../idle/activity-view.ts";

const withoutMeaning = "accepted for compatibility; has no effect";

/** Every flag of the controller, by the names and with the defaults that existing manifests count on. */
export const controllerFlags = {
  version: flag.boolean(false, "print the version and exit"),
  kubeconfig: flag.string(
    "",
    "path of a kubeconfig; empty: KUBECONFIG, else ~/.kube/config, else the service account of the Pod",
  ),
  extensions: flag.boolean(false, "also run the controllers of SandboxTemplates, SandboxWarmPools and SandboxClaims"),
  "cluster-domain": flag.string("cluster.local", "DNS domain of the cluster"),
  "metrics-bind-address": flag.string(":8080", "address of the metrics listener; 0: disabled"),
  "health-probe-bind-address": flag.string(":8081", "address of the listener for /healthz and /readyz; 0: disabled"),
  "leader-elect": flag.boolean(
    true,
    "elect a leader, so that only one of several replicas reconciles; without an election, run only one replica",
  ),
  "leader-election-namespace": flag.string(
    "",
    "namespace of the Lease; empty: the namespace of the Pod; required outside a Pod",
  ),
  "leader-elect-lease-duration": flag.duration(
    usualLeaseTimes.leaseMs,
    "how long a Lease is valid after its last renewal, in whole seconds; must be above --leader-elect-renew-deadline",
  ),
  "leader-elect-renew-deadline": flag.duration(
    usualLeaseTimes.renewLimitMs,
    "how long after its last renewal of the Lease a leader gives up and exits; must be below --leader-elect-lease-duration and above --leader-elect-retry-period",
  ),
  "leader-elect-retry-period": flag.duration(
    usualLeaseTimes.retryMs,
    "interval between attempts to acquire or renew the Lease; must be below --leader-elect-renew-deadline",
  ),
  "kube-api-qps": flag.float(
    -1,
    "maximum number of calls to the API server per second, not counting watches and the calls about the Lease; 0 or less: unlimited",
  ),
  "kube-api-burst": flag.integer(10, "number of calls that may come at once, before --kube-api-qps limits them"),
  "api-connections": flag.integer(
    1,
    "the controller opens at most 32 times this many connections for calls of one namespace to the API server, and 8 times this many in addition for calls of other namespaces; watches and the Lease have separate connections",
  ),
  "separate-watch-connection": flag.boolean(
    false,
    "accepted for compatibility; watches always have their own connections",
  ),
  "cache-label-selectors": flag.boolean(
    false,
    "watch only the Pods and Services with the label agents.x-k8s.io/sandbox-name-hash, which the controller sets; saves memory",
  ),
  "sandbox-concurrent-workers": flag.integer(100, "maximum number of Sandboxes reconciled at the same time"),
  "sandbox-write-behind-window": flag.duration(
    0,
    "how long the controller gathers changes of Pod metadata before it writes them; more than 1s counts as 1s",
  ),
  "hibernation-namespace": flag.string(
    "agent-sandbox-system",
    "with --hibernation: namespace of the signing key for restores; the node agents must be in the same namespace",
  ),
  hibernation: flag.boolean(
    false,
    "experimental: let node agents keep the memory of sandboxes with suspensionStrategy.type Hibernate; needs the kind MemoryImage and the permission to write it",
  ),
  "disable-sandbox-events": flag.boolean(false, "do not record events about Sandboxes and activators"),

  "activator-namespace": flag.string(
    "",
    "namespace of the activators; empty: there are no activators, and no sandbox is suspended for inactivity",
  ),
  "activator-selector": flag.string("app=sandbox-router", "label selector of the activator Pods"),
  "activator-service-account": flag.string(
    "",
    "service account of the activator Pods; the controller ignores Pods with another service account; empty: any",
  ),
  "activator-drain-port": flag.integer(drainPortDefault, "port of the drain listener of the activators"),
  "activator-vanish-grace": flag.duration(
    usualVanishGraceMs,
    "how long no sandbox is suspended for inactivity after an activator has disappeared or restarted, so that its clients can reconnect",
  ),
  "activator-silence-limit": flag.duration(
    0,
    "how long an activator that does not respond may block suspension for inactivity: 0 (no time limit) or at least 1m. The block also ends when the activator responds, when its Pod is gone, or when its Pod has not been Ready for 5m",
  ),

  "tcp-front-quarantine": flag.duration(
    usualQuarantineMs,
    "how long a released activator port is quarantined before another sandbox may use it",
  ),
  "tcp-front-ports-per-sandbox": flag.integer(
    32,
    "maximum number of activator ports that one sandbox uses; together with quarantined ports, it has at most twice as many; further ports of the sandbox are not reachable through the name of its Service",
  ),
  "tcp-front-ports-per-namespace": flag.integer(
    5_500,
    `maximum number of activator ports for one namespace, quarantined ones included; more than ${tcpFrontPortsPerNamespaceMax} count as ${tcpFrontPortsPerNamespaceMax}; all namespaces together have 22000`,
  ),
  "tcp-front-writes-per-second": flag.float(200, "maximum number of EndpointSlice writes per second"),

  "sandbox-claim-concurrent-workers": flag.integer(50, "maximum number of SandboxClaims reconciled at the same time"),
  "sandbox-warm-pool-concurrent-workers": flag.integer(
    1,
    "maximum number of SandboxWarmPools reconciled at the same time; a value below 4 limits each namespace, and 4 are reconciled at the same time in all namespaces together",
  ),
  "sandbox-template-concurrent-workers": flag.integer(
    1,
    "maximum number of SandboxTemplates reconciled at the same time; a value below 4 limits each namespace, and 4 are reconciled at the same time in all namespaces together",
  ),
  "sandbox-warm-pool-max-batch-size": flag.integer(
    300,
    "maximum number of sandboxes created, changed or deleted for one pool in one reconcile",
  ),
  "sandbox-warm-pool-replenish-delay": flag.duration(
    0,
    "delay before a pool that lost sandboxes is refilled, counted from the last loss; 0: none",
  ),
  "sandbox-warm-pool-max-refill-rate": flag.float(
    0,
    "number of sandboxes created per second for one pool, on average; as many, and at least one, may be created at once; 0: unlimited",
  ),
  "sandbox-warm-pool-readiness-grace-period": flag.duration(
    300_000,
    "time, from when the controller first sees an unclaimed sandbox of a pool, after which the sandbox is replaced if it is not Ready; doubles with each round of replacements, up to 1h; a sandbox whose Pod is unschedulable or has a scheduling gate is kept",
  ),
  "sandbox-warm-pool-unschedulable-recheck-interval": flag.duration(
    60_000,
    "interval between checks of a pool that makes no progress",
  ),
  "enable-warm-pool-eviction": flag.boolean(true, "allow the cluster autoscaler to evict unclaimed sandboxes of pools"),
  "disable-claim-events": flag.boolean(false, "do not record events about SandboxClaims"),
  "disable-claim-observability-annotations": flag.boolean(
    false,
    "do not annotate SandboxClaims with the time at which the controller first saw them, nor with their trace context; the time at which they were first Ready is still annotated",
  ),
  "enable-tracing": flag.boolean(false, `export traces over ${collectorHelp}`),
  "enable-pprof": flag.boolean(false, "serve CPU profiles on the metrics listener: /debug/pprof/profile"),
  "enable-pprof-debug": flag.boolean(
    false,
    "serve /debug/pprof/profile (CPU), /debug/pprof/heap (memory), /debug/pprof/block (event loop delay) and /debug/pprof/goroutine (open resources) on the metrics listener",
  ),
  "pprof-block-profile-rate": flag.integer(1_000_000, withoutMeaning),
  "pprof-mutex-profile-fraction": flag.integer(10, withoutMeaning),
  "metrics-secure-serving": flag.boolean(false, "serve the metrics listener over HTTPS"),
  "metrics-cert-dir": flag.string(
    "",
    "with --metrics-secure-serving: directory of tls.crt and tls.key; empty: use a self-signed certificate",
  ),
  "tls-min-version": flag.string(
    "VersionTLS12",
    "with --metrics-secure-serving: minimum TLS version, VersionTLS10 to VersionTLS13",
  ),
  "tls-cipher-suites": flag.string(
    "",
    "with --metrics-secure-serving: cipher suites below TLS 1.3 by their IANA names, separated by commas; empty: the defaults of Node",
  ),

  "enable-webhook": flag.boolean(true, "serve the conversion webhook between v1alpha1 and v1beta1"),
  "webhook-port": flag.integer(9443, "port of the conversion webhook"),
  "webhook-service-name": flag.string("agent-sandbox-webhook-service", "name of the Service in front of the webhook"),
  "webhook-namespace": flag.string(
    "agent-sandbox-system",
    "namespace of --webhook-service-name and of the Secret with its certificates",
  ),
  "manage-webhook-certs": flag.boolean(
    true,
    "create and renew the certificates of the webhook, and write their CA into the CRDs",
  ),
  "webhook-cert-dir": flag.string(
    "/tmp/k8s-webhook-server/serving-certs",
    "with --manage-webhook-certs=false: directory of the certificate of the webhook; if the directory has neither tls.crt nor tls.key, the controller uses the file cert.pem there, which has the certificate and the key",
  ),
  "webhook-cert-name": flag.string(
    "tls.crt",
    "with --manage-webhook-certs=false: certificate file in --webhook-cert-dir",
  ),
  "webhook-key-name": flag.string(
    "tls.key",
    "with --manage-webhook-certs=false: private key file in --webhook-cert-dir",
  ),

  ...zapFlags,
};

export type ControllerFlagName = keyof typeof controllerFlags;
