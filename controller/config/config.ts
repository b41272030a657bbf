import { join } from "node:path";
import { tcpFrontPortsPerNamespaceMax } from "../../api/between-programs/tcp-front.ts";
import { plainDomain } from "../../api/rules/names.ts";
import { callConnections } from "../../kube/client/http-client.ts";
import type { LeaseTimes } from "../../kube/leader/leader-election.ts";
import { type FlagValues, parseFlags } from "../../lib/flags/flags.ts";
import { zapLogLevel } from "../../lib/flags/zap-flags.ts";
import type { LogLevel } from "../../lib/log/log.ts";
import { type BindAddress, parseBindAddress } from "../../lib/net/bind-address.ts";
import type { Rate } from "../../lib/queues/token-buckets.ts";
import { collectorOf } from "../../lib/tracing/collector-address.ts";
import type { ActivatorsConfig } from "../suspension/activators/find-activators.ts";
import type { TcpFrontSettings } from "../tcp-front/start-tcp-front-controller.ts";
import type { WebhookConfig } from "../webhook/webhook-config.ts";
import { type ControllerFlagName, controllerFlags } from "./controller-flags.ts";
import { type ExtensionsConfig, extensionsConfigOf } from "./extensions-config.ts";
import { type MetricsConfig, metricsConfigOf } from "./metrics-config.ts";

export interface LeaderElectionConfig {
  /** Undefined: the namespace of the Pod. */
  readonly namespace: string | undefined;
  readonly times: LeaseTimes;
}

/** The configuration of the controller, read once from its command line. */
export interface ControllerConfig {
  /** Print the version and exit. */
  readonly version: boolean;
  /** Path; undefined: taken from the environment. */
  readonly kubeconfig: string | undefined;
  readonly logLevel: LogLevel;
  readonly clusterDomain: string;
  /** Limits of requests to the API server. */
  readonly api: {
    /** Undefined: unlimited. */
    readonly rate: Rate | undefined;
    readonly connections: number;
  };
  /** Undefined: not served. */
  readonly metrics: MetricsConfig | undefined;
  /** Undefined: not served. */
  readonly healthAddress: BindAddress | undefined;
  /** Undefined: no election; the controller works at once. */
  readonly leaderElection: LeaderElectionConfig | undefined;
  readonly cachesTrackedOnly: boolean;
  readonly sandboxWorkers: number;
  readonly sandboxWriteBehindMs: number;
  readonly sandboxEvents: boolean;
  /** Whether node agents capture memory. */
  readonly hibernation: boolean;
  /** Of the key that permits Pods to be restored. */
  readonly hibernationNamespace: string;
  /** Undefined: only Sandboxes are reconciled. */
  readonly extensions: ExtensionsConfig | undefined;
  /** Undefined: no webhook; the CRDs are used without conversion. */
  readonly webhook: WebhookConfig | undefined;
  /** Undefined: no activators, and no suspension for inactivity. */
  readonly activators: ActivatorsConfig | undefined;
  /** OTLP endpoint for traces; undefined: tracing is disabled. */
  readonly traceCollector: URL | undefined;
  readonly tcpFronts: TcpFrontSettings;
  /** Flags without effect; to be logged. */
  readonly warnings: readonly string[];
}

/** The command line was parsed, but a value is invalid: print the message and exit with status 1. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export type Environment = Readonly<Record<string, string | undefined>>;

type Values = FlagValues<typeof controllerFlags>;

/**
 * @throws HelpRequested for `--help`.
 * @throws FlagError for a flag that is not known or does not parse.
 * @throws ConfigError for values that make no sense; its message names them all.
 */
export function parseControllerConfig(args: readonly string[], environment: Environment = {}): ControllerConfig {
  const { values, given, rest } = parseFlags(controllerFlags, args);
  const wrong = [
    ...complaintsAbout(values),
    ...complaintAbout("", () => traceCollectorOf(values, environment)),
    ...rest.map((word) => `unexpected argument: ${word}`),
  ];
  if (wrong.length > 0) throw new ConfigError(wrong.join("\n"));
  return {
    version: values.version,
    kubeconfig: values.kubeconfig || undefined,
    logLevel: zapLogLevel(values),
    clusterDomain: plainDomain(values["cluster-domain"]),
    api: {
      rate:
        values["kube-api-qps"] > 0 ? { perSecond: values["kube-api-qps"], burst: values["kube-api-burst"] } : undefined,
      connections: values["api-connections"] * callConnections,
    },
    metrics: metricsConfigOf(values),
    healthAddress: parseBindAddress(values["health-probe-bind-address"]),
    leaderElection: values["leader-elect"]
      ? { namespace: values["leader-election-namespace"] || undefined, times: leaseTimesOf(values) }
      : undefined,
    cachesTrackedOnly: values["cache-label-selectors"],
    sandboxWorkers: values["sandbox-concurrent-workers"],
    sandboxWriteBehindMs: values["sandbox-write-behind-window"],
    sandboxEvents: !values["disable-sandbox-events"],
    hibernation: values.hibernation,
    hibernationNamespace: values["hibernation-namespace"],
    extensions: extensionsConfigOf(values),
    webhook: values["enable-webhook"] ? webhookOf(values) : undefined,
    activators: activatorsOf(values),
    traceCollector: traceCollectorOf(values, environment),
    tcpFronts: {
      quarantineMs: values["tcp-front-quarantine"],
      writesPerSecond: values["tcp-front-writes-per-second"],
      limits: {
        perSandbox: values["tcp-front-ports-per-sandbox"],
        perNamespace: Math.min(values["tcp-front-ports-per-namespace"], tcpFrontPortsPerNamespaceMax),
      },
    },
    warnings: warningsAbout(values, given),
  };
}

const positive: readonly ControllerFlagName[] = [
  "kube-api-burst",
  "api-connections",
  "sandbox-concurrent-workers",
  "sandbox-claim-concurrent-workers",
  "sandbox-warm-pool-concurrent-workers",
  "sandbox-warm-pool-max-batch-size",
  "sandbox-warm-pool-readiness-grace-period",
  "sandbox-warm-pool-unschedulable-recheck-interval",
  "tcp-front-quarantine",
  "tcp-front-ports-per-sandbox",
  "tcp-front-ports-per-namespace",
  "tcp-front-writes-per-second",
];

const workerCounts = [
  "sandbox-concurrent-workers",
  "sandbox-claim-concurrent-workers",
  "sandbox-warm-pool-concurrent-workers",
  "sandbox-template-concurrent-workers",
] as const;

function complaintsAbout(values: Values): readonly string[] {
  const wrong = positive.filter((name) => !(Number(values[name]) > 0)).map((name) => `--${name} must be above 0`);
  for (const name of ["webhook-cert-name", "webhook-key-name"] as const) {
    if (values[name].trim() === "") wrong.push(`--${name} must not be blank`);
  }
  wrong.push(...complaintsAboutLease(leaseTimesOf(values)));
  const drainPort = values["activator-drain-port"];
  if (drainPort < 1 || drainPort > 65_535) wrong.push("--activator-drain-port must be a port");
  // Everything in the namespace would be taken for an activator, and keep sandboxes awake.
  if (values["activator-selector"].trim() === "") wrong.push("--activator-selector must not be blank");
  if (values["activator-vanish-grace"] < 0) wrong.push("--activator-vanish-grace must not be negative");
  const silenceLimitMs = values["activator-silence-limit"];
  // A restart, or new certificates, make an activator silent for that long.
  if (silenceLimitMs !== 0 && silenceLimitMs < 60_000) wrong.push("--activator-silence-limit must be 0, or 1m or more");
  const webhookPort = values["webhook-port"];
  if (webhookPort < 0 || webhookPort > 65_535) wrong.push("--webhook-port must be a port");
  if (values["sandbox-write-behind-window"] < 0) wrong.push("--sandbox-write-behind-window must not be negative");
  const refillRate = values["sandbox-warm-pool-max-refill-rate"];
  if (!Number.isFinite(refillRate) || refillRate < 0) {
    wrong.push("--sandbox-warm-pool-max-refill-rate must be a number of 0 or more");
  }
  for (const name of ["metrics-bind-address", "health-probe-bind-address"] as const) {
    wrong.push(...complaintAbout(`--${name}: `, () => parseBindAddress(values[name])));
  }
  if (wrong.length === 0) wrong.push(...complaintAbout("", () => metricsConfigOf(values)));
  wrong.push(...complaintAbout("", () => zapLogLevel(values)));
  return wrong;
}

const leaseTimesOf = (values: Values): LeaseTimes => ({
  leaseMs: values["leader-elect-lease-duration"],
  renewLimitMs: values["leader-elect-renew-deadline"],
  retryMs: values["leader-elect-retry-period"],
});

/** A leader that gives up later than another may take over would make two of them. */
function complaintsAboutLease({ leaseMs, renewLimitMs, retryMs }: LeaseTimes): readonly string[] {
  const wrong: string[] = [];
  if (leaseMs < 1_000 || leaseMs % 1_000 !== 0) wrong.push("--leader-elect-lease-duration must be whole seconds");
  if (renewLimitMs >= leaseMs) wrong.push("--leader-elect-renew-deadline must be below --leader-elect-lease-duration");
  if (retryMs <= 0) wrong.push("--leader-elect-retry-period must be above 0");
  if (retryMs >= renewLimitMs) wrong.push("--leader-elect-retry-period must be below --leader-elect-renew-deadline");
  return wrong;
}

function activatorsOf(values: Values): ActivatorsConfig | undefined {
  const namespace = values["activator-namespace"];
  if (namespace === "") return undefined;
  return {
    namespace,
    labelSelector: values["activator-selector"],
    serviceAccount: values["activator-service-account"],
    drainPort: values["activator-drain-port"],
    vanishGraceMs: values["activator-vanish-grace"],
    ...(values["activator-silence-limit"] > 0 && { silenceLimitMs: values["activator-silence-limit"] }),
  };
}

function webhookOf(values: Values): WebhookConfig {
  const [directory, certName, keyName] = [
    values["webhook-cert-dir"],
    values["webhook-cert-name"],
    values["webhook-key-name"],
  ];
  // Only under the usual names may one file hold both.
  const usual =
    certName === controllerFlags["webhook-cert-name"].default &&
    keyName === controllerFlags["webhook-key-name"].default;
  const certificateFiles = {
    certificate: join(directory, certName),
    key: join(directory, keyName),
    ...(usual && { combined: join(directory, "cert.pem") }),
  };
  return {
    port: values["webhook-port"],
    service: { name: values["webhook-service-name"], namespace: values["webhook-namespace"] },
    certificateFiles: values["manage-webhook-certs"] ? undefined : certificateFiles,
  };
}

function webhookWarnings(values: Values, given: ReadonlySet<string>): readonly string[] {
  if (!values["enable-webhook"]) {
    return given.has("manage-webhook-certs") ? ["--manage-webhook-certs has no effect: there is no webhook"] : [];
  }
  if (!values["manage-webhook-certs"]) return [];
  return (["webhook-cert-name", "webhook-key-name"] as const)
    .filter((name) => values[name] !== controllerFlags[name].default)
    .map((name) => `--${name} has no effect: the certificates are managed`);
}

function complaintAbout(what: string, read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    return [what + (error instanceof Error ? error.message : String(error))];
  }
}

const traceCollectorOf = (values: Values, environment: Environment): URL | undefined =>
  values["enable-tracing"] ? collectorOf(environment) : undefined;

function warningsAbout(values: Values, given: ReadonlySet<string>): readonly string[] {
  const workers = workerCounts.reduce((sum, name) => sum + values[name], 0);
  const limited = values["kube-api-qps"] > 0;
  return [
    ...webhookWarnings(values, given),
    // A former release allowed up to 22,000: an upgrade must not end the program.
    ...(values["tcp-front-ports-per-namespace"] > tcpFrontPortsPerNamespaceMax
      ? [
          `--tcp-front-ports-per-namespace: more than ${tcpFrontPortsPerNamespaceMax} count as ${tcpFrontPortsPerNamespaceMax}`,
        ]
      : []),
    ...(workers > 1_000 ? [`${workers} workers in all are more than 1000`] : []),
    ...(limited && workers > values["kube-api-burst"]
      ? [`${workers} workers in all are more than --kube-api-burst`]
      : []),
  ];
}
