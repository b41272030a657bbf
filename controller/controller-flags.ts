import { drainPortDefault } from "../api/drain-credentials.ts";
import { usualQuarantineMs } from "../api/tcp-front.ts";
import { usualLeaseTimes } from "../kube/leader-election.ts";
import { flag } from "../lib/flags.ts";
import { zapFlags } from "../lib/zap-flags.ts";
import { usualVanishGraceMs } from "./suspension/activity-view.ts";

const withoutMeaning = "accepted; a program that runs on Node has no such profile";

/** Every flag of the controller, by the names and with the defaults that existing manifests count on. */
export const controllerFlags = {
  version: flag.boolean(false, "print the version and exit"),
  kubeconfig: flag.string("", "path of a kubeconfig; empty: KUBECONFIG, else the Pod's service account"),
  extensions: flag.boolean(false, "run the controllers of templates, warm pools and claims too"),
  "cluster-domain": flag.string("cluster.local", "suffix of the DNS names of Services"),
  "metrics-bind-address": flag.string(":8080", "where /metrics is served; 0 switches it off"),
  "health-probe-bind-address": flag.string(":8081", "where /healthz and /readyz are served; 0 switches them off"),
  "leader-elect": flag.boolean(true, "work only while holding the lease, so that of several replicas one works"),
  "leader-election-namespace": flag.string("", "namespace of the lease; empty: the Pod's own"),
  "leader-elect-lease-duration": flag.duration(
    usualLeaseTimes.leaseMs,
    "a lease that was not renewed for so long is another's to take; whole seconds",
  ),
  "leader-elect-renew-deadline": flag.duration(
    usualLeaseTimes.renewLimitMs,
    "a leader that could not renew its lease for so long ends",
  ),
  "leader-elect-retry-period": flag.duration(
    usualLeaseTimes.retryMs,
    "between two attempts to take or renew the lease",
  ),
  "kube-api-qps": flag.float(-1, "requests per second to the API server; 0 or less: unlimited"),
  "kube-api-burst": flag.integer(10, "requests in a burst to the API server, where their rate is limited"),
  "api-connections": flag.integer(1, "connections to the API server, in lots of 32"),
  "separate-watch-connection": flag.boolean(false, "accepted; watches always have connections of their own"),
  "cache-label-selectors": flag.boolean(false, "watch only Pods and Services that carry the tracking label"),
  "sandbox-concurrent-workers": flag.integer(100, "sandboxes brought in line at the same time"),
  "sandbox-write-behind-window": flag.duration(0, "how long a change of a Pod's metadata alone may wait, at most 1s"),
  "disable-sandbox-events": flag.boolean(false, "write no events about sandboxes"),

  "activator-namespace": flag.string(
    "",
    "namespace of the activators; empty: there are none, and nothing sleeps by itself",
  ),
  "activator-selector": flag.string("app=sandbox-router", "label selector of the activators' Pods"),
  "activator-drain-port": flag.integer(drainPortDefault, "where activators answer the controller"),
  "activator-vanish-grace": flag.duration(
    usualVanishGraceMs,
    "how long nothing falls asleep after an activator has vanished, so that its clients can come back",
  ),

  "tcp-front-quarantine": flag.duration(
    usualQuarantineMs,
    "how long a port by which a sandbox was reached is given to no other",
  ),
  "tcp-front-writes-per-second": flag.float(200, "EndpointSlices written per second, over all sandboxes, at most"),

  "sandbox-claim-concurrent-workers": flag.integer(50, "claims brought in line at the same time"),
  "sandbox-warm-pool-concurrent-workers": flag.integer(1, "pools brought in line at the same time"),
  "sandbox-template-concurrent-workers": flag.integer(1, "templates brought in line at the same time"),
  "sandbox-warm-pool-max-batch-size": flag.integer(300, "sandboxes made or removed for one pool at once, at most"),
  "sandbox-warm-pool-replenish-delay": flag.duration(0, "wait before a pool that lost sandboxes is filled up; 0: none"),
  "sandbox-warm-pool-max-refill-rate": flag.float(0, "sandboxes made per second and pool; 0: unlimited"),
  "sandbox-warm-pool-readiness-grace-period": flag.duration(300_000, "time that a pooled sandbox has to become ready"),
  "sandbox-warm-pool-unschedulable-recheck-interval": flag.duration(60_000, "between looks at a pool that is stuck"),
  "enable-warm-pool-eviction": flag.boolean(true, "let the autoscaler evict pooled sandboxes that nobody has claimed"),
  "disable-claim-events": flag.boolean(false, "write no events about claims"),
  "disable-claim-observability-annotations": flag.boolean(false, "leave times off claims"),
  "enable-tracing": flag.boolean(false, "export traces by OTLP over gRPC, to OTEL_EXPORTER_OTLP_ENDPOINT"),
  "enable-pprof": flag.boolean(false, "serve a CPU profile beside the metrics: /debug/pprof/profile"),
  "enable-pprof-debug": flag.boolean(false, "serve profiles of memory and of waiting too: /debug/pprof/"),
  "pprof-block-profile-rate": flag.integer(1_000_000, withoutMeaning),
  "pprof-mutex-profile-fraction": flag.integer(10, withoutMeaning),
  "metrics-secure-serving": flag.boolean(false, "serve /metrics over HTTPS"),
  "metrics-cert-dir": flag.string(
    "",
    "where its tls.crt and tls.key are; empty: a certificate is made that nobody has signed",
  ),
  "tls-min-version": flag.string("VersionTLS12", "oldest TLS version of /metrics, VersionTLS10 to VersionTLS13"),
  "tls-cipher-suites": flag.string("", "cipher suites of /metrics below TLS 1.3, as the IANA names them, by commas"),

  "enable-webhook": flag.boolean(true, "convert between v1alpha1 and v1beta1 for the API server"),
  "webhook-port": flag.integer(9443, "where the conversion webhook is served"),
  "webhook-service-name": flag.string("agent-sandbox-webhook-service", "the Service in front of the webhook"),
  "webhook-namespace": flag.string("agent-sandbox-system", "the namespace of that Service and of the certificates"),
  "manage-webhook-certs": flag.boolean(
    true,
    "make and renew the webhook's certificates, and make the API server trust them",
  ),
  "webhook-cert-dir": flag.string(
    "/tmp/k8s-webhook-server/serving-certs",
    "where the webhook's certificate is, when it is not managed",
  ),
  "webhook-cert-name": flag.string("tls.crt", "the certificate's file in that directory"),
  "webhook-key-name": flag.string("tls.key", "the key's file in that directory"),

  ...zapFlags,
};

export type ControllerFlagName = keyof typeof controllerFlags;
