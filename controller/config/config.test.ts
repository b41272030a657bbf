import { describe, expect, it } from "vitest";
import { FlagError, HelpRequested } from "../../lib/flags/flags.ts";
import { ConfigError, parseControllerConfig } from "./config.ts";

describe("the controller's command line", () => {
  it("may be empty", () => {
    expect(parseControllerConfig([])).toEqual({
      version: false,
      kubeconfig: undefined,
      logLevel: "info",
      clusterDomain: "cluster.local",
      api: { rate: undefined, connections: 32 },
      metrics: { address: { host: undefined, port: 8080 }, tls: undefined, profiles: "none" },
      healthAddress: { host: undefined, port: 8081 },
      leaderElection: { namespace: undefined, times: { leaseMs: 15_000, renewLimitMs: 10_000, retryMs: 2_000 } },
      cachesTrackedOnly: false,
      sandboxWorkers: 100,
      sandboxWriteBehindMs: 0,
      sandboxEvents: true,
      hibernation: false,
      hibernationNamespace: "agent-sandbox-system",
      extensions: undefined,
      webhook: {
        port: 9443,
        service: { name: "agent-sandbox-webhook-service", namespace: "agent-sandbox-system" },
        certificateFiles: undefined,
      },
      tcpFronts: {
        quarantineMs: 600_000,
        writesPerSecond: 200,
        limits: { perSandbox: 32, perNamespace: 5_500 },
      },
      warnings: [],
    });
  });

  it("is read in the syntax that existing manifests are written in", () => {
    const config = parseControllerConfig([
      "-leader-elect=false",
      "--kube-api-qps=-1.000000",
      "--sandbox-concurrent-workers",
      "7",
      "--sandbox-write-behind-window=250ms",
      "--metrics-bind-address=0",
      "--health-probe-bind-address=[::1]:9",
      "--cluster-domain=example.org",
      "--disable-sandbox-events",
      "--cache-label-selectors",
      "--zap-log-level=2",
    ]);
    expect(config).toMatchObject({
      leaderElection: undefined,
      sandboxWorkers: 7,
      sandboxWriteBehindMs: 250,
      metrics: undefined,
      healthAddress: { host: "::1", port: 9 },
      clusterDomain: "example.org",
      sandboxEvents: false,
      cachesTrackedOnly: true,
      logLevel: "debug",
    });
  });

  it("takes times of the lease only when a leader gives up before another may take over", () => {
    const times = (lease: string, renew: string, retry: string) => [
      `--leader-elect-lease-duration=${lease}`,
      `--leader-elect-renew-deadline=${renew}`,
      `--leader-elect-retry-period=${retry}`,
    ];
    expect(parseControllerConfig(times("60s", "40s", "10s")).leaderElection?.times).toEqual({
      leaseMs: 60_000,
      renewLimitMs: 40_000,
      retryMs: 10_000,
    });
    expect(() => parseControllerConfig(times("10s", "10s", "2s"))).toThrow("renew-deadline must be below");
    expect(() => parseControllerConfig(times("10s", "2s", "2s"))).toThrow("retry-period must be below");
    expect(() => parseControllerConfig(times("1500ms", "1s", "100ms"))).toThrow("whole seconds");
  });

  it("has settings for templates, pools and claims, once they are enabled", () => {
    expect(parseControllerConfig(["--extensions"]).extensions).toEqual({
      templateWorkers: 1,
      warmPoolWorkers: 1,
      warmPools: {
        maxBatch: 300,
        replenishDelayMs: 0,
        maxRefillPerSecond: 0,
        readinessGraceMs: 300_000,
        notProgressingRecheckMs: 60_000,
        evictable: true,
      },
      claimWorkers: 50,
      claimEvents: true,
      claimNotes: true,
    });
    const { extensions } = parseControllerConfig([
      "--extensions",
      "--sandbox-warm-pool-readiness-grace-period=10s",
      "--sandbox-warm-pool-unschedulable-recheck-interval=5s",
      "--sandbox-warm-pool-max-refill-rate=0.5",
      "--enable-warm-pool-eviction=false",
      "--disable-claim-events",
      "--disable-claim-observability-annotations",
      // Not validated, so that it means the least there can be.
      "--sandbox-template-concurrent-workers=0",
    ]);
    expect(extensions).toMatchObject({
      templateWorkers: 1,
      warmPools: {
        readinessGraceMs: 10_000,
        notProgressingRecheckMs: 5_000,
        maxRefillPerSecond: 0.5,
        evictable: false,
      },
      claimEvents: false,
      claimNotes: false,
    });
  });

  it.each([
    ["", "--kube-api-burst=0"],
    ["", "--api-connections=0"],
    ["", "--sandbox-concurrent-workers=0"],
    ["", "--sandbox-claim-concurrent-workers=-1"],
    ["", "--sandbox-warm-pool-concurrent-workers=0"],
    ["", "--sandbox-warm-pool-max-batch-size=0"],
    ["", "--sandbox-warm-pool-max-refill-rate=NaN"],
    ["", "--sandbox-warm-pool-max-refill-rate=+Inf"],
    ["", "--sandbox-warm-pool-max-refill-rate=-1"],
    ["", "--sandbox-warm-pool-readiness-grace-period=0s"],
    ["", "--sandbox-warm-pool-unschedulable-recheck-interval=0s"],
    ["", "--sandbox-write-behind-window=-1s"],
    ["", "--webhook-cert-name= "],
    ["", "--webhook-key-name="],
    ["", "--webhook-port=65536"],
    ["", "--metrics-bind-address=8080"],
    ["", "--health-probe-bind-address=:99999"],
    ["", "--zap-log-level=loud"],
    ["", "--tls-min-version=1.2"],
    ["", "--tls-cipher-suites=RC4"],
    ["", "stray"],
  ])("%sis refused with %s", (_, flag) => {
    expect(() => parseControllerConfig([flag])).toThrow(ConfigError);
  });

  it("reports all invalid values at once", () => {
    expect(() => parseControllerConfig(["--kube-api-burst=0", "--api-connections=0"])).toThrow(
      "--kube-api-burst must be above 0\n--api-connections must be above 0",
    );
  });

  it("reads the domain of the cluster in any case, and with a dot at its end", () => {
    expect(parseControllerConfig(["--cluster-domain=Corp.Local."]).clusterDomain).toBe("corp.local");
  });

  it("waits for a silent activator without a limit unless one of a minute or more is set", () => {
    const limit = (value: string) =>
      parseControllerConfig(["--activator-namespace=here", `--activator-silence-limit=${value}`]).activators;
    expect(limit("0s")).not.toHaveProperty("silenceLimitMs");
    expect(limit("10m")).toMatchObject({ silenceLimitMs: 600_000 });
    for (const short of ["59s", "-1m"]) expect(() => limit(short)).toThrow("must be 0, or 1m or more");
  });

  it("has no activators unless their address is configured", () => {
    expect(parseControllerConfig([]).activators).toBeUndefined();
    const { activators } = parseControllerConfig(["--activator-namespace=here", "--activator-drain-port=99"]);
    expect(activators).toEqual({
      serviceAccount: "",
      namespace: "here",
      labelSelector: "app=sandbox-router",
      drainPort: 99,
      vanishGraceMs: 60_000,
    });
    expect(() => parseControllerConfig(["--activator-selector=", "--activator-drain-port=0"])).toThrow(
      "--activator-drain-port must be a port\n--activator-selector must not be blank",
    );
  });

  it("has no other flags, and prints help on request", () => {
    expect(() => parseControllerConfig(["--nope"])).toThrow(FlagError);
    expect(() => parseControllerConfig(["--sandbox-concurrent-workers=many"])).toThrow(FlagError);
    expect(() => parseControllerConfig(["--help"])).toThrow(HelpRequested);
  });

  it("has the place of the webhook's certificate, or no webhook", () => {
    const { webhook } = parseControllerConfig([
      "--manage-webhook-certs=false",
      "--webhook-cert-dir=/certs",
      "--webhook-cert-name=a.pem",
      "--webhook-port=0",
      "--webhook-service-name=ours",
      "--webhook-namespace=here",
    ]);
    expect(webhook).toEqual({
      port: 0,
      service: { name: "ours", namespace: "here" },
      certificateFiles: { certificate: "/certs/a.pem", key: "/certs/tls.key" },
    });
    expect(parseControllerConfig(["--enable-webhook=false"]).webhook).toBeUndefined();
  });

  it("lets one file hold certificate and key under the usual names only", () => {
    const files = (...flags: readonly string[]) =>
      parseControllerConfig(["--manage-webhook-certs=false", "--webhook-cert-dir=/c", ...flags]).webhook
        ?.certificateFiles;
    expect(files()).toEqual({ certificate: "/c/tls.crt", key: "/c/tls.key", combined: "/c/cert.pem" });
    expect(files("--webhook-cert-name=mine.crt")).toEqual({ certificate: "/c/mine.crt", key: "/c/tls.key" });
  });

  it("limits calls to the API server only if a rate is set", () => {
    expect(parseControllerConfig(["--kube-api-qps=-1.000000"]).api.rate).toBeUndefined();
    expect(parseControllerConfig(["--kube-api-qps=50", "--api-connections=2"]).api).toEqual({
      rate: { perSecond: 50, burst: 10 },
      connections: 64,
    });
  });

  it("warns of webhook flags without effect", () => {
    expect(parseControllerConfig(["--webhook-key-name=k.pem"]).warnings).toEqual([
      "--webhook-key-name has no effect: the certificates are managed",
    ]);
    expect(parseControllerConfig(["--enable-webhook=false", "--manage-webhook-certs"]).warnings).toEqual([
      "--manage-webhook-certs has no effect: there is no webhook",
    ]);
    expect(parseControllerConfig(["--enable-webhook=false"]).warnings).toEqual([]);
  });

  it("takes more activator ports for a namespace than there may be for as many, and warns of it", () => {
    const { tcpFronts, warnings } = parseControllerConfig(["--tcp-front-ports-per-namespace=22000"]);
    expect(tcpFronts.limits.perNamespace).toBe(11_000);
    expect(warnings).toEqual(["--tcp-front-ports-per-namespace: more than 11000 count as 11000"]);
    expect(parseControllerConfig(["--tcp-front-ports-per-namespace=11000"]).warnings).toEqual([]);
  });

  it("warns of more than 1000 workers", () => {
    const { warnings } = parseControllerConfig(["--sandbox-concurrent-workers=1000"]);
    expect(warnings).toEqual(["1052 workers in all are more than 1000"]);
  });

  it("exports traces only if enabled, to the address in the environment", () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4317" };
    expect(parseControllerConfig([], environment).traceCollector).toBeUndefined();
    const { traceCollector } = parseControllerConfig(["--enable-tracing"], environment);
    expect(traceCollector?.href).toBe("http://collector:4317/");
    expect(() => parseControllerConfig(["--enable-tracing"], { OTEL_EXPORTER_OTLP_ENDPOINT: "http://" })).toThrow(
      ConfigError,
    );
  });
});
