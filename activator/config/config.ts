import { plainDomain } from "../../api/rules/names.ts";
import type { CertificateFiles } from "../../lib/certificates/certificate-files.ts";
import { type FlagValues, parseFlags } from "../../lib/flags/flags.ts";
import { zapLogLevel } from "../../lib/flags/zap-flags.ts";
import { type LogLevel, logLevels } from "../../lib/log/log.ts";
import { type BindAddress, parseBindAddress } from "../../lib/net/bind-address.ts";
import { backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Rate } from "../../lib/queues/token-buckets.ts";
import { collectorOf, namesCollector } from "../../lib/tracing/collector-address.ts";
import type { ReviewSettings } from "../authorize/reviewed-tokens.ts";
import { byNameAddress } from "../by-name/by-name-config.ts";
import { drainTlsFiles } from "../drain/drain-config.ts";
import type { HoldLimitNumbers } from "../hold/hold-limits.ts";
import { type Networks, parseNetworks } from "../socket/proxy-protocol/networks.ts";
import { type TcpFrontConfig, tcpFrontConfig } from "../tcp-front/tcp-front-config.ts";
import { authorizationOf } from "./authorization.ts";
import { ConfigError } from "./config-error.ts";
import { activatorFlags } from "./flags.ts";
import { type HttpsConfig, httpsConfigOf } from "./https-config.ts";
import { type PathRouting, pathRoutingOf } from "./path-routing-config.ts";
import type { ScopedTokenSettings } from "./scoped-token-config.ts";

export type Authorization =
  | { readonly mode: "allow-all" }
  | { readonly mode: "static-token"; readonly token: string }
  | ScopedTokenSettings
  | { readonly mode: "tokenreview"; readonly reviews: ReviewSettings };

/** The checked settings of the activator. Times are in milliseconds; 0 means no limit where the flag says so. */
export interface ActivatorConfig {
  readonly version: boolean;
  readonly kubeconfig: string | undefined;
  readonly logLevel: LogLevel;
  /** Whether clients may speak HTTP/2. */
  readonly http2: boolean;
  readonly accessLog: boolean;
  /** Absent: plain HTTP is disabled. */
  readonly http: BindAddress | undefined;
  /** Absent: HTTPS is disabled. At least one of http and https is set. */
  readonly https: HttpsConfig | undefined;
  readonly ops: BindAddress;
  /** Absent: metrics are served at `ops` alone. */
  readonly metrics: BindAddress | undefined;
  /** Absent: the controller cannot ask this activator, and counts it as busy. */
  readonly drain: DrainConfig | undefined;
  /** Absent: no port of a sandbox is opened. */
  readonly tcpFront: TcpFrontConfig | undefined;
  /** Absent: no sandbox is reached by its name in TLS. */
  readonly byName: BindAddress | undefined;
  /** Connections from these begin with a PROXY header; undefined: none does. */
  readonly proxyNetworks: Networks | undefined;
  readonly domain: string;
  readonly clusterDomain: string;
  /** The names of the activator's own Services, in lower case. */
  readonly serviceNames: readonly string[];
  /** Outside of the domains, the hosts on which headers may name the sandbox, in lower case; undefined: any host. */
  readonly headerHosts: readonly string[] | undefined;
  readonly refusesForeignPages: boolean;
  /** Undefined: no path names a sandbox. */
  readonly pathRouting: PathRouting | undefined;
  /** Origins in lower case, or `*`, whose pages may send calls of gRPC-Web to any sandbox; undefined: there are no such calls. */
  readonly webOrigins: readonly string[] | undefined;
  readonly authorization: Authorization;
  readonly allowLoopbackPodIp: boolean;
  readonly maxRequestBodyBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxIdleUpstream: number;
  readonly maxConnections: number;
  readonly slots: HoldLimitNumbers;
  readonly wakes: Rate;
  readonly unschedulableGraceMs: number | undefined;
  readonly dialRetryMs: number;
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly proxyTimeoutMs: number;
  /** The limit until a response begins. */
  readonly responseHeaderTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly streamIdleMs: number;
  readonly totalMs: number;
  readonly tunnelIdleMs: number;
  readonly tunnelLifetimeMs: number;
  readonly drainSettleMs: number;
  readonly shutdownTimeoutMs: number;
  /** Where traces are exported; undefined: nothing is traced. */
  readonly traceCollector: URL | undefined;
  /** Warnings for the log. */
  readonly warnings: readonly string[];
}

export interface DrainConfig extends BindAddress {
  /** Absent: plain HTTP, on a loopback address only. */
  readonly tls: CertificateFiles | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads flags, environment and configuration file. Flags of the command line win over the file, the file over the environment,
 * and the environment over defaults.
 *
 * @throws HelpRequested, FlagError for flags that do not parse, ConfigError for settings that contradict each other.
 */
export function parseActivatorConfig(args: readonly string[], env: Environment = {}): ActivatorConfig {
  const { values, given, rest } = parseFlags(activatorFlags, args);
  const wrong = rest.map((word) => `unexpected argument: ${word}`);
  const warnings: string[] = [];
  const number = numbersOf(env, given, warnings);
  const collect = <T>(read: () => T, fallback: T): T => {
    try {
      return read();
    } catch (error) {
      wrong.push(error instanceof Error ? error.message : String(error));
      return fallback;
    }
  };
  const anywhere: BindAddress = { host: undefined, port: 0 };
  const address = (name: "http-bind-address" | "metrics-bind-address" | "health-probe-bind-address") =>
    collect(() => parseBindAddress(values[name]), undefined);
  const https = collect(() => httpsConfigOf(values), undefined);
  const http = address("http-bind-address");
  if ([values["http-bind-address"], values["https-bind-address"]].every((text) => text === "" || text === "0")) {
    wrong.push("--http-bind-address or --https-bind-address must be given");
  }
  const authorization: Authorization = values.version
    ? { mode: "allow-all" }
    : collect(() => authorizationOf(values, env), { mode: "allow-all" });

  const config: ActivatorConfig = {
    ...plainSettings(values),
    logLevel: collect(() => logLevelOf(values, given), "info"),
    http,
    https,
    ops:
      address("health-probe-bind-address") ??
      collect(() => refuse("--health-probe-bind-address must not be empty"), anywhere),
    metrics: address("metrics-bind-address"),
    drain: collect(() => drainConfig(values), undefined),
    tcpFront: collect(() => tcpFrontConfig(values, env["POD_IP"], values["drain-bind-address"] !== ""), undefined),
    byName: collect(() => byNameAddress(values), undefined),
    proxyNetworks: collect(() => proxyNetworksOf(values), undefined),
    clusterDomain: plainDomain(
      given.has("cluster-domain") ? values["cluster-domain"] : env["CLUSTER_DOMAIN"] || values["cluster-domain"],
    ),
    authorization,
    webOrigins: collect(() => webOriginsOf(values), undefined),
    pathRouting: collect(() => pathRoutingOf(values, authorization.mode === "allow-all"), undefined),
    ...numbersOfEnvironment(values, number),
    traceCollector: collect(() => traceCollectorOf(values, given, env), undefined),
    warnings,
  };
  if (values["enable-otel-metrics"]) {
    wrong.push("--enable-otel-metrics: metrics are not pushed; have the collector read /metrics of the activators");
  } else if (env["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]?.trim()) {
    warnings.push("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT has no effect: metrics are served at /metrics");
  }
  if (wrong.length > 0) throw new ConfigError(wrong.join("\n"));
  return config;
}

/** Settings that the ecosystem's router also reads from the environment. */
function numbersOfEnvironment(values: Values, number: ReturnType<typeof numbersOf>) {
  const seconds = { scale: 1000 };
  return {
    proxyTimeoutMs: number("proxy-timeout", "PROXY_TIMEOUT_SECONDS", values["proxy-timeout"], { above: 0, ...seconds }),
    maxIdleUpstream: number("max-idle-upstream", "MAX_KEEPALIVE_CONNECTIONS", values["max-idle-upstream"], {}),
    tunnelIdleMs: number(
      "tunnel-idle-timeout",
      "WEBSOCKET_IDLE_TIMEOUT_SECONDS",
      values["tunnel-idle-timeout"],
      seconds,
    ),
    tunnelLifetimeMs: number("tunnel-lifetime", "WEBSOCKET_MAX_LIFETIME_SECONDS", values["tunnel-lifetime"], seconds),
  };
}

function refuse(message: string): never {
  throw new ConfigError(message);
}

type Values = FlagValues<typeof activatorFlags>;

function plainSettings(values: Values) {
  return {
    version: values.version,
    kubeconfig: values.kubeconfig || undefined,
    http2: values.http2,
    accessLog: values["access-log"],
    domain: plainDomain(values.domain),
    serviceNames: hostsOf(values["service-names"]) ?? [],
    headerHosts: hostsOf(values["header-hosts"]),
    refusesForeignPages: values["refuse-foreign-pages"],
    allowLoopbackPodIp: values["allow-loopback-pod-ip"],
    maxRequestBodyBytes: values["max-request-body-bytes"],
    maxHeaderBytes: values["max-header-bytes"],
    maxConnections: values["max-connections"],
    slots: {
      total: values["held-max-total"],
      perNamespace: values["held-max-per-namespace"],
      perSandbox: values["held-max-per-sandbox"],
    },
    wakes: { perSecond: values["wakes-per-second"], burst: values["wakes-burst"] },
    unschedulableGraceMs: values["unschedulable-grace"] || undefined,
    dialRetryMs: dialRetryMs(values),
    headersTimeoutMs: values["headers-timeout"],
    responseHeaderTimeoutMs: values["response-header-timeout"] || Number.POSITIVE_INFINITY,
    keepAliveTimeoutMs: values["keep-alive-timeout"],
    connectTimeoutMs: values["connect-timeout"],
    streamIdleMs: values["stream-idle-timeout"],
    totalMs: values["total-timeout"],
    drainSettleMs: values["drain-settle"],
    shutdownTimeoutMs: values["shutdown-timeout"],
  };
}

function proxyNetworksOf({ "proxy-protocol-networks": list }: Values): Networks | undefined {
  try {
    return parseNetworks(list);
  } catch (error) {
    return refuse(`--proxy-protocol-networks: ${error instanceof Error ? error.message : error}`);
  }
}

function hostsOf(text: string): readonly string[] | undefined {
  const hosts = text.split(",").flatMap((host) => host.trim().toLowerCase() || []);
  return hosts.length > 0 ? hosts : undefined;
}

/** Our variable, else that of the ecosystem's logger. */
function logLevelOf(values: Values, given: ReadonlySet<string>): LogLevel {
  const zap = zapLogLevel(values);
  return given.has("log-level") ? (logLevels.find((level) => level === values["log-level"]) ?? "info") : zap;
}

/** Tracing is on if a collector is named, unless the flag sets it. */
function traceCollectorOf(values: Values, given: ReadonlySet<string>, env: Environment): URL | undefined {
  const isTraced = given.has("enable-tracing") ? values["enable-tracing"] : namesCollector(env) !== undefined;
  return isTraced && !values.version ? collectorOf(env) : undefined;
}

function drainConfig(values: Values): DrainConfig | undefined {
  const address = parseBindAddress(values["drain-bind-address"]);
  return address && { ...address, tls: drainTlsFiles(values, address.host) };
}

/** The retries of the ecosystem's router as one duration: the activator retries more often within it. */
function dialRetryMs(values: Values): number {
  const backoff = {
    baseMs: values["upstream-retry-initial-delay"],
    maxMs: values["upstream-retry-max-delay"],
    jitter: 0,
  };
  let totalMs = 0;
  for (let retry = 1; retry <= values["upstream-max-retries"]; retry += 1) totalMs += backoffDelayMs(retry, backoff);
  return totalMs;
}

/** Undefined: there is no gRPC-Web. */
function webOriginsOf(values: Values): readonly string[] | undefined {
  const origins = hostsOf(values["grpc-web-origins"]) ?? [];
  if (!values.http2) return origins.length > 0 ? refuse("--grpc-web-origins needs --http2") : undefined;
  const wrong = origins.find((origin) => origin !== "*" && !/^https?:\/\/[^/*]+$/.test(origin));
  if (wrong !== undefined)
    return refuse(`--grpc-web-origins: ${wrong} is not an origin, such as https://app.example.com`);
  return origins;
}

/** Numbers of the environment. A malformed number causes a warning and the default, never an error. */
function numbersOf(env: Environment, given: ReadonlySet<string>, warnings: string[]) {
  return (
    flagName: string,
    variable: string,
    fallback: number,
    { above, scale = 1 }: { readonly above?: number; readonly scale?: number },
  ): number => {
    const text = env[variable]?.trim();
    if (given.has(flagName) || text === undefined || text === "") return fallback;
    const value = Number(text);
    if (Number.isFinite(value) && (above === undefined ? value >= 0 : value > above)) return value * scale;
    warnings.push(`WARNING: ${variable} is not a usable number; the default is used`);
    return fallback;
  };
}
