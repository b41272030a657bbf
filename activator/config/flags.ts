import { flag } from "../../lib/flags/flags.ts";
import { zapFlags } from "../../lib/flags/zap-flags.ts";
import { logLevels } from "../../lib/log/log.ts";
import { collectorHelp } from "../../lib/tracing/collector-address.ts";
import { tcpFrontModes } from "../tcp-front/tcp-front-config.ts";

const positive = (value: number) => (value > 0 ? undefined : "must be above 0");
const notNegative = (value: number) => (value >= 0 ? undefined : "must not be negative");
const oneOf = (words: readonly string[]) => (value: string) =>
  words.includes(value) ? undefined : `must be one of ${words.filter(Boolean).join(", ")}`;

/** Modes of `--authz-mode`; empty: as the environment sets. */
const authzModes = ["", "allow-all", "static-token", "scoped-token", "tokenreview"] as const;

/** Modes of `--mtls-mode`. */
export const clientCertificates = ["off", "optional", "required"] as const;

const withoutMeaning = "accepted for compatibility with other routers; has no effect";

/** Every setting of the activator. Names and meanings up to `access-log` are the ecosystem's. */
export const activatorFlags = {
  "http-bind-address": flag.string(":8080", "address of the HTTP listener for sandboxes; empty: disabled"),
  "https-bind-address": flag.string("", "address of the HTTPS listener for sandboxes; empty: disabled"),
  "tls-cert-file": flag.string("", "TLS certificate file of the HTTPS listener; reloaded when it changes"),
  "tls-key-file": flag.string("", "private key file of that certificate"),
  "tls-client-ca-file": flag.string("", "CA file that verifies client certificates; reloaded when it changes"),
  "mtls-mode": flag.string(
    "off",
    "client certificates on the HTTPS listener: off, optional or required",
    oneOf(clientCertificates),
  ),
  config: flag.string("", "path of a YAML file that sets these flags by name"),
  "metrics-bind-address": flag.string(":9090", "address of the metrics listener; empty: disabled"),
  "health-probe-bind-address": flag.string(":8081", "address of the health, readiness and metrics listener"),
  "cluster-domain": flag.string("cluster.local", "DNS domain of the cluster", (v) =>
    v ? undefined : "must not be empty",
  ),
  "proxy-timeout": flag.duration(
    900_000,
    "maximum time to hold a request, and then maximum time from the last byte of the request to the response head; the header X-Sandbox-Timeout shortens both",
    positive,
  ),
  "response-header-timeout": flag.duration(
    0,
    "maximum time from the last byte of a request to the response head; 0: use --proxy-timeout",
    notNegative,
  ),
  "shutdown-timeout": flag.duration(
    30_000,
    "time for requests in flight to finish after SIGTERM and --drain-settle; give Pods a grace period of both plus 15s",
    notNegative,
  ),
  "max-request-body-bytes": flag.integer(0, "maximum size of a request body; 0: unlimited", notNegative),
  "allow-loopback-pod-ip": flag.boolean(false, "allow Pods with loopback addresses; only for a cluster on one machine"),
  "upstream-max-retries": flag.integer(
    3,
    "a port that should be open and is closed is tried again for the sum of the delays of so many retries; with the defaults 1.4s",
    notNegative,
  ),
  "upstream-retry-initial-delay": flag.duration(
    200,
    "delay of the first of these retries; doubles for each further retry",
    notNegative,
  ),
  "upstream-retry-max-delay": flag.duration(800, "maximum delay of one of these retries", notNegative),
  "authz-mode": flag.string(
    "",
    "how clients are authorized: allow-all, static-token, scoped-token or tokenreview; empty: static-token if ROUTER_AUTH_TOKEN is set, allow-all if ALLOW_UNAUTHENTICATED_ROUTER is true, else an error",
    oneOf(authzModes),
  ),
  "authz-tokenreview-ttl": flag.duration(
    30_000,
    "how long the result of a TokenReview or SubjectAccessReview is cached; a review without an answer a third of it, at least 1s",
    positive,
  ),
  "authz-tokenreview-cache-size": flag.integer(
    2_048,
    "maximum number of cached tokens that are valid, and of others; the same numbers again for SubjectAccessReviews",
    positive,
  ),
  "authz-tokenreview-require-token": flag.boolean(
    false,
    "reject requests without a bearer token; otherwise they are those of system:anonymous",
  ),
  "authz-tokenreview-audiences": flag.string(
    "",
    "audiences that a token must have one of, separated by commas; empty: the audience of the API server",
  ),
  "authz-access-review": flag.boolean(
    false,
    "with tokenreview, also require the permission to get sandboxes/connect of that sandbox (SubjectAccessReview)",
  ),
  "authz-scoped-token-secret-file": flag.string(
    "",
    "file with the key of scoped tokens, at least 32 bytes without blanks around it; read once",
  ),
  kubeconfig: flag.string(
    "",
    "path of a kubeconfig; empty: KUBECONFIG, else ~/.kube/config, else the service account of the Pod",
  ),
  "access-log": flag.boolean(true, "log each request and TCP connection"),
  "cache-enabled": flag.boolean(false, withoutMeaning),
  "cache-namespace": flag.string("", withoutMeaning),
  version: flag.boolean(false, "print the version and exit"),

  "header-hosts": flag.string(
    "",
    "hosts outside of --domain on which X-Sandbox headers may name the sandbox, separated by commas; requests on other hosts are rejected; empty: all hosts",
  ),
  domain: flag.string(
    "sandbox.localhost",
    "domain of sandbox host names: NAME.NAMESPACE.DOMAIN and PORT--NAME--NAMESPACE.DOMAIN; empty: no such host names",
  ),
  "connect-timeout": flag.duration(5_000, "timeout of a connection attempt to a sandbox", positive),
  "stream-idle-timeout": flag.duration(3_600_000, "maximum pause within a response; 0: unlimited", notNegative),
  "total-timeout": flag.duration(
    0,
    "maximum duration of a request after it was sent to the sandbox; 0: unlimited",
    notNegative,
  ),
  "tunnel-idle-timeout": flag.duration(3_600_000, "maximum pause on an upgraded connection; 0: unlimited", notNegative),
  "tunnel-lifetime": flag.duration(86_400_000, "maximum duration of an upgraded connection; 0: unlimited", notNegative),
  "headers-timeout": flag.duration(10_000, "timeout of a request head, and of a TLS handshake", positive),
  "keep-alive-timeout": flag.duration(120_000, "idle timeout of client connections", positive),
  "max-header-bytes": flag.integer(65_536, "maximum size of a request or response head in bytes", positive),
  "max-connections": flag.integer(
    50_000,
    "maximum number of HTTP client connections, and as many HTTPS and as many TCP connections to ports of sandboxes; further ones are closed on accept",
    positive,
  ),
  "max-idle-upstream": flag.integer(
    20,
    "maximum number of idle connections kept for each port of a sandbox; 0: none",
    notNegative,
  ),
  "held-max-total": flag.integer(
    10_000,
    "maximum number of held requests; a request counts once for each 8 KiB of its head",
    positive,
  ),
  "held-max-per-namespace": flag.integer(
    5_000,
    "maximum number of held requests for one namespace; the last tenth of --held-max-total is shared, unless this is as large",
    positive,
  ),
  "held-max-per-sandbox": flag.integer(2_000, "maximum number of held requests for one sandbox", positive),
  "wakes-per-second": flag.float(20, "rate limit of wakes for each namespace, per second", positive),
  "wakes-burst": flag.integer(100, "burst of that rate limit", positive),
  "unschedulable-grace": flag.duration(
    0,
    "reject held requests with Unschedulable when the Pod has been unschedulable for this long; 0: with WakeTimedOut at their hold timeout",
    notNegative,
  ),
  "drain-settle": flag.duration(5_000, "how long new connections are still accepted after SIGTERM", notNegative),
  "drain-bind-address": flag.string(
    "",
    "address of the drain listener, which the controller calls before it suspends a sandbox; empty: disabled, and no sandbox is suspended for inactivity",
  ),
  "drain-tls-cert-file": flag.string(
    "",
    "TLS certificate file of the drain listener; reloaded when it changes; needed unless the listener has a loopback address",
  ),
  "drain-tls-key-file": flag.string("", "private key file of that certificate"),
  "drain-client-ca-file": flag.string("", "CA file that verifies the certificate of the controller"),
  "tcp-front": flag.string(
    "",
    "on or off: listen on the ports that the controller assigns to sandboxes in EndpointSlices; empty: on if the drain listener is enabled",
    oneOf(tcpFrontModes),
  ),
  "tcp-front-bind-address": flag.string("", "address of these listeners, without a port; empty: all addresses"),
  "log-level": flag.string(
    "info",
    "log level: debug, info, warn, error or silent; overrides --zap-log-level",
    oneOf(logLevels),
  ),
  "enable-tracing": flag.boolean(
    false,
    `export a trace of each request over ${collectorHelp}; default: true if one of these variables is set`,
  ),
  "enable-otel-metrics": flag.boolean(false, "not supported and rejected: scrape /metrics instead"),
  ...zapFlags,
} as const;
