import { flag } from "../lib/flags.ts";
import { logLevels } from "../lib/log.ts";
import { zapFlags } from "../lib/zap-flags.ts";
import { tcpFrontModes } from "./tcp-front/tcp-front-config.ts";

const positive = (value: number) => (value > 0 ? undefined : "must be above 0");
const notNegative = (value: number) => (value >= 0 ? undefined : "must not be negative");
const oneOf = (words: readonly string[]) => (value: string) =>
  words.includes(value) ? undefined : `must be one of ${words.filter(Boolean).join(", ")}`;

/** Modes of `--authz-mode`; empty: what the environment says. */
export const authzModes = ["", "allow-all", "static-token", "scoped-token", "tokenreview"] as const;

/** Modes of `--mtls-mode`. */
export const clientCertificates = ["off", "optional", "required"] as const;

const withoutMeaning = "accepted, for manifests of other routers use it; has no effect here";

/** Every setting of the activator. Names and meanings up to `access-log` are the ecosystem's (spec router 19.1). */
export const activatorFlags = {
  "http-bind-address": flag.string(":8080", "where sandboxes are reached"),
  "https-bind-address": flag.string("", "where sandboxes are reached over TLS; empty means nowhere"),
  "tls-cert-file": flag.string("", "certificate that is shown there; a new one is shown soon after it is there"),
  "tls-key-file": flag.string("", "its key"),
  "tls-client-ca-file": flag.string("", "authority that signs the certificates of clients"),
  "mtls-mode": flag.string(
    "off",
    "whether clients show a certificate: off, optional or required",
    oneOf(clientCertificates),
  ),
  config: flag.string("", "path of a YAML file with settings, by the names of these flags"),
  "metrics-bind-address": flag.string(":9090", "where metrics are served; empty means nowhere"),
  "health-probe-bind-address": flag.string(":8081", "where health, readiness and metrics are served"),
  "cluster-domain": flag.string("cluster.local", "domain of the cluster's DNS", (v) =>
    v ? undefined : "must not be empty",
  ),
  "proxy-timeout": flag.duration(
    900_000,
    "longest time a request is held, and that a sandbox may take to begin its response; X-Sandbox-Timeout shortens it",
    positive,
  ),
  "response-header-timeout": flag.duration(
    0,
    "longest time that a sandbox may take to begin its response; 0: as long as --proxy-timeout says",
    notNegative,
  ),
  "shutdown-timeout": flag.duration(30_000, "how long requests under way may take after SIGTERM", notNegative),
  "max-request-body-bytes": flag.integer(0, "longest request body; 0 means no limit", notNegative),
  "allow-loopback-pod-ip": flag.boolean(
    false,
    "let Pods have loopback addresses: only where everything is one machine",
  ),
  "upstream-max-retries": flag.integer(3, "dials after the first to a port that ought to be open", notNegative),
  "upstream-retry-initial-delay": flag.duration(200, "time before the first of them; doubles each time", notNegative),
  "upstream-retry-max-delay": flag.duration(800, "longest time between two of them", notNegative),
  "authz-mode": flag.string(
    "",
    "who may reach sandboxes: allow-all, static-token, scoped-token or tokenreview",
    oneOf(authzModes),
  ),
  "authz-tokenreview-ttl": flag.duration(30_000, "how long the API server's answer about a token is good", positive),
  "authz-tokenreview-cache-size": flag.integer(2_048, "tokens that are remembered", positive),
  "authz-tokenreview-require-token": flag.boolean(false, "refuse who brings no token of the cluster"),
  "authz-tokenreview-audiences": flag.string("", "for whom tokens have to be, by commas; empty: for the API server"),
  "authz-access-review": flag.boolean(
    false,
    "with tokenreview, also ask who may reach which sandbox: the right to get sandboxes/connect",
  ),
  "authz-scoped-token-secret-file": flag.string("", "key of scoped tokens, at least 32 bytes"),
  kubeconfig: flag.string("", "path of a kubeconfig; empty means the environment's, or the service account"),
  "access-log": flag.boolean(true, "write one line for each request"),
  "cache-enabled": flag.boolean(false, withoutMeaning),
  "cache-namespace": flag.string("", withoutMeaning),
  version: flag.boolean(false, "print the version and exit"),

  domain: flag.string("sandbox.localhost", "sandboxes are NAME.NAMESPACE.DOMAIN; empty switches host names off"),
  "connect-timeout": flag.duration(5_000, "longest time to connect to a sandbox", positive),
  "stream-idle-timeout": flag.duration(3_600_000, "longest pause within a response; 0 means no limit", notNegative),
  "total-timeout": flag.duration(0, "longest life of a request once it was sent on; 0 means no limit", notNegative),
  "tunnel-idle-timeout": flag.duration(3_600_000, "longest pause of an upgraded connection; 0: no limit", notNegative),
  "tunnel-lifetime": flag.duration(86_400_000, "longest life of an upgraded connection; 0: no limit", notNegative),
  "headers-timeout": flag.duration(10_000, "longest time a request head may take to arrive", positive),
  "keep-alive-timeout": flag.duration(120_000, "how long idle connections of clients are kept", positive),
  "max-header-bytes": flag.integer(65_536, "longest request or response head", positive),
  "max-connections": flag.integer(
    50_000,
    "connections of clients at once, and as many to ports of sandboxes; those beyond are closed unread",
    positive,
  ),
  "max-idle-upstream": flag.integer(20, "idle connections kept for each port of a sandbox; 0 means none", notNegative),
  "held-max-total": flag.integer(10_000, "requests that may wait at once", positive),
  "held-max-per-namespace": flag.integer(5_000, "requests that may wait for sandboxes of one namespace", positive),
  "held-max-per-sandbox": flag.integer(2_000, "requests that may wait for one sandbox", positive),
  "wakes-per-second": flag.float(20, "wakes of one namespace, sustained", positive),
  "wakes-burst": flag.integer(100, "wakes of one namespace, at once", positive),
  "unschedulable-grace": flag.duration(
    0,
    "tell waiting clients that no node has room after this time; 0 means only when they may wait no longer",
    notNegative,
  ),
  "drain-settle": flag.duration(5_000, "how long new connections are accepted after SIGTERM", notNegative),
  "drain-bind-address": flag.string("", "where the controller asks what is in use; empty: nowhere, and nothing sleeps"),
  "drain-tls-cert-file": flag.string("", "certificate that is shown to the controller"),
  "drain-tls-key-file": flag.string("", "its key"),
  "drain-client-ca-file": flag.string("", "authority that signs the controller's certificate"),
  "tcp-front": flag.string(
    "",
    "on or off: open the ports of sandboxes that the controller's EndpointSlices name; empty means where the controller can ask for it",
    oneOf(tcpFrontModes),
  ),
  "tcp-front-bind-address": flag.string(
    "",
    "the address at which they are opened, without a port; empty means every address",
  ),
  "log-level": flag.string("info", "debug, info, warn, error or silent; wins over --zap-log-level", oneOf(logLevels)),
  "enable-tracing": flag.boolean(
    false,
    "export a trace of each request by OTLP over gRPC, to OTEL_EXPORTER_OTLP_ENDPOINT; not given: where that is set",
  ),
  "enable-otel-metrics": flag.boolean(false, "refused: metrics are not pushed; collectors can read /metrics"),
  ...zapFlags,
} as const;
