import { plainDomain } from "../../api/rules/names.ts";
import { flag } from "../../lib/flags/flags.ts";
import { zapFlags } from "../../lib/flags/zap-flags.ts";
import { logLevels } from "../../lib/log/log.ts";
import { collectorHelp } from "../../lib/tracing/collector-address.ts";
import { tcpFrontModes } from "../tcp-front/tcp-front-config.ts";
import { pathRoutingFlags } from "./path-routing-flags.ts";
import { scopedTokenFlags } from "./scoped-token-config.ts";

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
  "http-bind-address": flag.string(
    ":8080",
    "address of the HTTP listener for clients of sandboxes; empty: disabled, and --https-bind-address is required",
  ),
  "https-bind-address": flag.string(
    "",
    "address of the HTTPS listener for clients of sandboxes; needs --tls-cert-file and --tls-key-file; empty: disabled",
  ),
  "tls-cert-file": flag.string("", "TLS certificate file of the HTTPS listener; reloaded when it changes"),
  "tls-key-file": flag.string("", "private key file of --tls-cert-file; reloaded when it changes"),
  "tls-client-ca-file": flag.string(
    "",
    "CA file that verifies certificates of HTTPS clients; required unless --mtls-mode is off; reloaded when it changes",
  ),
  "mtls-mode": flag.string(
    "off",
    "whether HTTPS clients present a certificate: off, optional (a certificate that is presented must be valid) or required; optional and required need --https-bind-address and --tls-client-ca-file",
    oneOf(clientCertificates),
  ),
  config: flag.string(
    "",
    "path of a YAML file that sets these flags by name; empty: SANDBOX_ROUTER_CONFIG; flags of the command line win",
  ),
  "metrics-bind-address": flag.string(
    ":9090",
    "address of the listener for /metrics; empty: only --health-probe-bind-address serves /metrics",
  ),
  "health-probe-bind-address": flag.string(
    ":8081",
    "address of the listener for /healthz, /readyz and /metrics; must not be empty",
  ),
  "cluster-domain": flag.string("cluster.local", "DNS domain of the cluster", (v) =>
    plainDomain(v) ? undefined : "must not be empty",
  ),
  "proxy-timeout": flag.duration(
    900_000,
    "maximum time that a request is held. Then the maximum time in which the sandbox takes no further byte of the request, or has the whole request and does not begin its response. The header X-Sandbox-Timeout can shorten these. Also the maximum pause of a client within its request, and of both sides within the rest of a request whose response is complete. Of a gRPC call it limits only the hold",
    positive,
  ),
  "response-header-timeout": flag.duration(
    0,
    "maximum time in which the sandbox takes no further byte of the request, or has the whole request and does not begin its response, if that is shorter than --proxy-timeout; 0: --proxy-timeout alone; does not apply to gRPC calls",
    notNegative,
  ),
  "shutdown-timeout": flag.duration(
    30_000,
    "after SIGTERM and --drain-settle, how long requests in flight may take to finish. Set terminationGracePeriodSeconds of the Pod to both times plus 15s",
    notNegative,
  ),
  "max-request-body-bytes": flag.integer(
    0,
    "maximum size of a request body in bytes, or of all that the client sends in a gRPC call; 0: unlimited",
    notNegative,
  ),
  "allow-loopback-pod-ip": flag.boolean(
    false,
    "proxy to Pods with loopback addresses; only for a cluster on one machine",
  ),
  "upstream-max-retries": flag.integer(
    3,
    "number of retries whose delays together limit how long a request waits for a closed port of a Pod that is no longer starting (1.4s with the defaults). The request also waits until one whole attempt has failed. This number sets only that time: within the time, the activator may make more attempts",
    notNegative,
  ),
  "upstream-retry-initial-delay": flag.duration(
    200,
    "first delay in the sum of --upstream-max-retries; each further one is twice as long",
    notNegative,
  ),
  "upstream-retry-max-delay": flag.duration(800, "longest delay in the sum of --upstream-max-retries", notNegative),
  "authz-mode": flag.string(
    "",
    "how clients are authorized: allow-all, static-token (by the token in ROUTER_AUTH_TOKEN), scoped-token or tokenreview; empty: static-token if ROUTER_AUTH_TOKEN is set, allow-all if ALLOW_UNAUTHENTICATED_ROUTER is true, else an error",
    oneOf(authzModes),
  ),
  "authz-tokenreview-ttl": flag.duration(
    30_000,
    "how long the result of a TokenReview or SubjectAccessReview is cached; a review without an answer is cached for a third of that time, at least 1s",
    positive,
  ),
  "authz-tokenreview-cache-size": flag.integer(
    2_048,
    "maximum number of entries in each of four caches: valid tokens, other tokens, permitted SubjectAccessReviews, other SubjectAccessReviews",
    positive,
  ),
  "authz-tokenreview-require-token": flag.boolean(
    false,
    "reject requests without a bearer token; if false, they are requests of the user system:anonymous",
  ),
  "authz-tokenreview-audiences": flag.string(
    "",
    "accepted audiences, separated by commas; a token needs at least one of them; empty: the audience of the API server",
  ),
  "authz-access-review": flag.boolean(
    false,
    "with --authz-mode=tokenreview, require the permission to get sandboxes/connect of the requested sandbox (SubjectAccessReview); if false, every valid token reaches every sandbox",
  ),
  ...scopedTokenFlags,
  ...pathRoutingFlags,
  kubeconfig: flag.string(
    "",
    "path of a kubeconfig; empty: KUBECONFIG, else ~/.kube/config, else the service account of the Pod",
  ),
  http2: flag.boolean(
    true,
    "accept HTTP/2 and gRPC (over TLS by ALPN h2, in clear text by the HTTP/2 preface), and gRPC-Web over HTTP/1.1 and HTTP/2; if false, the activator speaks only HTTP/1.1 with clients, and a gRPC-Web call reaches the sandbox unchanged",
  ),
  "access-log": flag.boolean(
    true,
    "write a line to the log for each request and each TCP connection to a sandbox, except requests for /healthz, /readyz and /metrics that get 200, and requests whose head is rejected; only at the log levels info and debug",
  ),
  "cache-enabled": flag.boolean(false, withoutMeaning),
  "cache-namespace": flag.string("", withoutMeaning),
  version: flag.boolean(false, "print the version and exit"),

  "header-hosts": flag.string(
    "",
    "hosts that the activator serves besides the host names of sandboxes (those of --domain, and NAME.NAMESPACE.svc), separated by commas; on these hosts X-Sandbox headers or a path name the sandbox; requests to any other host are rejected; empty: all hosts are served",
  ),
  "refuse-foreign-pages": flag.boolean(
    false,
    "reject requests that a browser sends for a web page, unless its origin is a host name of a sandbox or one of --header-hosts; links to a sandbox still work. Metrics and health are served only under IP addresses and --header-hosts",
  ),
  "grpc-web-origins": flag.string(
    "",
    "origins whose web pages may send gRPC-Web calls to any sandbox, such as https://app.example.com, separated by commas; *: all origins; needs --http2. A page on a host name of a sandbox may always call that sandbox by its host names, at any port",
  ),
  "service-names": flag.string(
    "sandbox-router-svc",
    "names of the Services that lead to the activators, separated by commas. On a host SERVICE.NAMESPACE.svc with such a name, X-Sandbox headers or a path name the sandbox, and the activator answers /healthz. On any other host NAME.NAMESPACE.svc, the sandbox is NAME",
  ),
  domain: flag.string(
    "sandbox.localhost",
    "domain of sandbox host names: NAME.NAMESPACE.DOMAIN and PORT--NAME--NAMESPACE.DOMAIN; empty: no such host names",
  ),
  "connect-timeout": flag.duration(5_000, "maximum time of one attempt to connect to a sandbox", positive),
  "stream-idle-timeout": flag.duration(
    3_600_000,
    "maximum time without progress within a response or a gRPC call; 0: unlimited",
    notNegative,
  ),
  "total-timeout": flag.duration(
    0,
    "maximum duration of a request, upload included, from the first byte sent to the sandbox; 0: unlimited",
    notNegative,
  ),
  "tunnel-idle-timeout": flag.duration(
    3_600_000,
    "maximum time without data on an upgraded connection, such as a WebSocket, or on a TCP connection to a sandbox; 0: unlimited",
    notNegative,
  ),
  "tunnel-lifetime": flag.duration(
    86_400_000,
    "maximum duration of an upgraded connection, or of a TCP connection to a sandbox; 0: unlimited",
    notNegative,
  ),
  "headers-timeout": flag.duration(
    10_000,
    "maximum time for a request head, for a TLS handshake, for a PROXY header, and for a client of the by-name listener to name its sandbox",
    positive,
  ),
  "proxy-protocol-networks": flag.string(
    "",
    "networks whose connections to the HTTP and HTTPS listeners, activator ports and the by-name listener must begin with a header of the PROXY protocol, version 1 or 2; separated by commas, such as 10.0.0.0/8,fd00::/8,192.0.2.7. Logs and X-Forwarded-For then show the client address of that header, and nothing else depends on it. Headers from other networks are not read; empty: none is read",
  ),
  "keep-alive-timeout": flag.duration(
    120_000,
    "how long an HTTP or HTTPS connection of a client may stay open between two requests, and how long a client may read nothing of a response of the activator itself",
    positive,
  ),
  "max-header-bytes": flag.integer(65_536, "maximum size of a request or response head in bytes", positive),
  "max-connections": flag.integer(
    50_000,
    "maximum number of client connections of each kind: HTTP, HTTPS, TCP to activator ports, and connections by name; further connections are closed on accept. Also the maximum number of HTTP/2 requests in progress; further ones are refused",
    positive,
  ),
  "max-idle-upstream": flag.integer(
    5_000,
    "maximum number of idle connections kept for each port of a sandbox; 0: none. Together with those in use, the activator keeps only as many as the port had concurrent requests in the last 5 to 10 seconds, or 20 if that is more",
    notNegative,
  ),
  "held-max-total": flag.integer(
    10_000,
    "maximum number of requests and TCP connections in this replica that are held, or that connect to a running sandbox; a request takes one slot for each 8 KiB, or part of 8 KiB, of its head and kept body; a connection by name takes one slot for each 8 KiB, or part of 8 KiB, of the sum of its ClientHello and 4 KiB. Connections by name, and of Pods of other namespaces, have a quarter as many slots, in addition to these",
    positive,
  ),
  "held-max-per-namespace": flag.integer(
    5_000,
    "as --held-max-total, for one namespace. If this is below --held-max-total, a namespace gets a slot of the last tenth only while it holds fewer slots than are free",
    positive,
  ),
  "held-max-per-sandbox": flag.integer(2_000, "as --held-max-total, for one sandbox", positive),
  "wakes-per-second": flag.float(20, "maximum number of wakes per second in one namespace, by this replica", positive),
  "wakes-burst": flag.integer(
    100,
    "number of wakes in one namespace that may come at once, before --wakes-per-second limits them",
    positive,
  ),
  "unschedulable-grace": flag.duration(
    0,
    "reject held requests with Unschedulable once the Pod has been unschedulable for this long; 0: hold them until their hold timeout, then reject them with WakeTimedOut",
    notNegative,
  ),
  "drain-settle": flag.duration(
    5_000,
    "after SIGTERM, how long new connections are still accepted; on activator ports this time starts when no EndpointSlice lists the address in the variable POD_IP, without that variable at once",
    notNegative,
  ),
  "drain-bind-address": flag.string(
    "",
    "address of the drain listener, which the controller calls before it suspends a sandbox; empty: disabled, and no sandbox is suspended for inactivity",
  ),
  "drain-tls-cert-file": flag.string(
    "",
    "TLS certificate file of the drain listener; reloaded when it changes. With --drain-bind-address, set this flag, --drain-tls-key-file and --drain-client-ca-file all together; on a loopback address you can leave out all three",
  ),
  "drain-tls-key-file": flag.string(
    "",
    "private key file of --drain-tls-cert-file, required together with it; reloaded when it changes",
  ),
  "drain-client-ca-file": flag.string(
    "",
    "CA file that verifies the certificate of the controller on the drain listener, required together with --drain-tls-cert-file; reloaded when it changes",
  ),
  "tcp-front": flag.string(
    "",
    "on or off: whether the activator listens on the ports that the controller assigns to sandboxes in EndpointSlices (activator ports); empty: on if the drain listener is enabled",
    oneOf(tcpFrontModes),
  ),
  "tcp-front-bind-address": flag.string("", "address of the activator ports, without a port; empty: all addresses"),
  "by-name-bind-address": flag.string(
    "",
    "address of the by-name listener, for connections that name their sandbox in their TLS handshake, including those of PostgreSQL clients; the sandbox decrypts them itself; only sandboxes with autoResume.allowFrom Any are reached, and only the TCP ports that they declare; empty: disabled",
  ),
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
