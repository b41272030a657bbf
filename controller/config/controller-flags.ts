import { drainPortDefault } from "../../api/protocols/drain-credentials.ts";
import { usualQuarantineMs } from "../../api/protocols/tcp-front.ts";
import { usualLeaseTimes } from "../../kube/leader/leader-election.ts";
import { flag } from "../../lib/flags/flags.ts";
import { zapFlags } from "../../lib/flags/zap-flags.ts";
import { collectorHelp } from "../../lib/tracing/collector-address.ts";
import { usualVanishGraceMs } from "../suspension/idle/activity-view.ts";

const withoutMeaning = "accepted for compatibility; Node has no such profile";

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
  "leader-elect": flag.boolean(true, "elect a leader, so that one of several replicas works"),
  "leader-election-namespace": flag.string("", "namespace of the Lease; empty: the namespace of the Pod"),
  "leader-elect-lease-duration": flag.duration(
    usualLeaseTimes.leaseMs,
    "how long a Lease is valid after its last renewal, in whole seconds",
  ),
  "leader-elect-renew-deadline": flag.duration(
    usualLeaseTimes.renewLimitMs,
    "how long a leader tries to renew its Lease before it exits",
  ),
  "leader-elect-retry-period": flag.duration(
    usualLeaseTimes.retryMs,
    "interval between attempts to acquire or renew the Lease",
  ),
  "kube-api-qps": flag.float(-1, "rate limit of requests to the API server, per second; 0 or less: unlimited"),
  "kube-api-burst": flag.integer(10, "burst of that rate limit"),
  "api-connections": flag.integer(1, "number of connections to the API server, in units of 32"),
  "separate-watch-connection": flag.boolean(
    false,
    "accepted for compatibility; watches always have their own connections",
  ),
  "cache-label-selectors": flag.boolean(
    false,
    "watch only Pods and Services with the label agents.x-k8s.io/sandbox-name-hash, which the controller sets",
  ),
  "sandbox-concurrent-workers": flag.integer(100, "number of concurrent Sandbox reconciles"),
  "sandbox-write-behind-window": flag.duration(
    0,
    "how long to gather changes of Pod metadata before they are written, at most 1s",
  ),
  "disable-sandbox-events": flag.boolean(false, "do not record events about Sandboxes"),

  "activator-namespace": flag.string(
    "",
    "namespace of the activators; empty: no activators, and no sandbox is suspended for inactivity",
  ),
  "activator-selector": flag.string("app=sandbox-router", "label selector of the activator Pods"),
  "activator-service-account": flag.string(
    "",
    "service account of the activator Pods; Pods with another service account are ignored; empty: any",
  ),
  "activator-drain-port": flag.integer(drainPortDefault, "port of the drain listener of the activators"),
  "activator-vanish-grace": flag.duration(
    usualVanishGraceMs,
    "how long no sandbox is suspended for inactivity after an activator has disappeared, so that its clients can reconnect",
  ),
  "activator-silence-limit": flag.duration(
    0,
    "how long an activator that is Ready and does not respond blocks suspension for inactivity, at least 1m; 0: until it responds, or its Pod is gone or has not been Ready for 5m",
  ),

  "tcp-front-quarantine": flag.duration(
    usualQuarantineMs,
    "how long a released activator port is quarantined before another sandbox may use it",
  ),
  "tcp-front-ports-per-sandbox": flag.integer(
    32,
    "maximum number of activator ports for one sandbox; further ports cannot be reached by the name of its Service",
  ),
  "tcp-front-ports-per-namespace": flag.integer(
    5_500,
    "maximum number of activator ports for one namespace, quarantined ones included; 22000 exist in total",
  ),
  "tcp-front-writes-per-second": flag.float(200, "rate limit of EndpointSlice writes, per second"),

  "sandbox-claim-concurrent-workers": flag.integer(50, "number of concurrent SandboxClaim reconciles"),
  "sandbox-warm-pool-concurrent-workers": flag.integer(1, "number of concurrent SandboxWarmPool reconciles"),
  "sandbox-template-concurrent-workers": flag.integer(1, "number of concurrent SandboxTemplate reconciles"),
  "sandbox-warm-pool-max-batch-size": flag.integer(
    300,
    "maximum number of sandboxes created or deleted for one pool in one reconcile",
  ),
  "sandbox-warm-pool-replenish-delay": flag.duration(
    0,
    "delay before a pool that lost sandboxes is refilled, counted from the last loss; 0: none",
  ),
  "sandbox-warm-pool-max-refill-rate": flag.float(
    0,
    "rate limit of created sandboxes for each pool, per second; 0: unlimited",
  ),
  "sandbox-warm-pool-readiness-grace-period": flag.duration(
    300_000,
    "how long a sandbox of a pool may take to become ready before it is replaced; doubles with each round of replacements, up to 1h; a sandbox that waits for a node is kept",
  ),
  "sandbox-warm-pool-unschedulable-recheck-interval": flag.duration(
    60_000,
    "interval between checks of a pool that makes no progress",
  ),
  "enable-warm-pool-eviction": flag.boolean(true, "allow the cluster autoscaler to evict unclaimed sandboxes of pools"),
  "disable-claim-events": flag.boolean(false, "do not record events about SandboxClaims"),
  "disable-claim-observability-annotations": flag.boolean(false, "do not write time annotations on SandboxClaims"),
  "enable-tracing": flag.boolean(false, `export traces over ${collectorHelp}`),
  "enable-pprof": flag.boolean(false, "serve CPU profiles on the metrics listener: /debug/pprof/profile"),
  "enable-pprof-debug": flag.boolean(
    false,
    "serve CPU, heap and delay profiles on the metrics listener: /debug/pprof/",
  ),
  "pprof-block-profile-rate": flag.integer(1_000_000, withoutMeaning),
  "pprof-mutex-profile-fraction": flag.integer(10, withoutMeaning),
  "metrics-secure-serving": flag.boolean(false, "serve /metrics over HTTPS"),
  "metrics-cert-dir": flag.string(
    "",
    "directory of tls.crt and tls.key for /metrics; empty: use a self-signed certificate",
  ),
  "tls-min-version": flag.string("VersionTLS12", "minimum TLS version of /metrics, VersionTLS10 to VersionTLS13"),
  "tls-cipher-suites": flag.string(
    "",
    "cipher suites of /metrics below TLS 1.3 by their IANA names, separated by commas",
  ),

  "enable-webhook": flag.boolean(true, "serve the conversion webhook between v1alpha1 and v1beta1"),
  "webhook-port": flag.integer(9443, "port of the conversion webhook"),
  "webhook-service-name": flag.string("agent-sandbox-webhook-service", "name of the Service in front of the webhook"),
  "webhook-namespace": flag.string("agent-sandbox-system", "namespace of that Service and of its certificates"),
  "manage-webhook-certs": flag.boolean(
    true,
    "create and renew the certificates of the webhook, and write their CA into the CRDs",
  ),
  "webhook-cert-dir": flag.string(
    "/tmp/k8s-webhook-server/serving-certs",
    "directory of the certificate of the webhook, if it is not managed",
  ),
  "webhook-cert-name": flag.string("tls.crt", "certificate file in that directory"),
  "webhook-key-name": flag.string("tls.key", "private key file in that directory"),

  ...zapFlags,
};

export type ControllerFlagName = keyof typeof controllerFlags;
