import { describe, expect, it } from "vitest";
import { parseActivatorConfig } from "./config.ts";
import { ConfigError } from "./config-error.ts";

const open = ["--authz-mode=allow-all"];
const scoped = ["--authz-mode=scoped-token", "--authz-scoped-token-secret-file=s"];

describe("the settings of the activator", () => {
  it("prefer a flag over the environment, and that over the default", () => {
    const env = { PROXY_TIMEOUT_SECONDS: "2.5", CLUSTER_DOMAIN: "corp.local" };
    expect(parseActivatorConfig(open).proxyTimeoutMs).toBe(900_000);
    expect(parseActivatorConfig(open, env)).toMatchObject({ proxyTimeoutMs: 2_500, clusterDomain: "corp.local" });
    const flags = [...open, "--proxy-timeout", "1m30s", "--cluster-domain=X."];
    expect(parseActivatorConfig(flags, env)).toMatchObject({ proxyTimeoutMs: 90_000, clusterDomain: "x" });
  });

  it("warn of a malformed number in the environment, and use the default", () => {
    const config = parseActivatorConfig(open, { PROXY_TIMEOUT_SECONDS: "soon", MAX_KEEPALIVE_CONNECTIONS: "-1" });
    expect(config).toMatchObject({ proxyTimeoutMs: 900_000, maxIdleUpstream: 5_000 });
    expect(config.warnings.map((text) => /WARNING: (\w+)/.exec(text)?.[1])).toEqual([
      "PROXY_TIMEOUT_SECONDS",
      "MAX_KEEPALIVE_CONNECTIONS",
    ]);
  });

  it.each([
    [[], {}, /^ROUTER_AUTH_TOKEN must be set to start/],
    [[], { ALLOW_UNAUTHENTICATED_ROUTER: "false" }, /^ROUTER_AUTH_TOKEN must be set to start/],
    [open, { ROUTER_AUTH_TOKEN: "x" }, /contradict/],
    [["--authz-mode=scoped-token"], {}, /secret-file or .*verification-keys-file/],
    [[...scoped, "--authz-scoped-token-verification-keys-file=k"], {}, /need --authz-scoped-token-v1-until/],
    [[...scoped, "--authz-scoped-token-v1-until=soon"], {}, /must be a time/],
    [[...open, "--enable-otel-metrics"], {}, /not pushed/],
    [[...open, "--enable-tracing"], { OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://x" }, /not the address of a collector/],
    [["--authz-mode=tokenreview"], { ROUTER_AUTH_TOKEN: "x" }, /contradict/],
    [[...open, "--http-bind-address=nowhere", "surprise"], {}, /surprise[\s\S]*nowhere/],
    [[...open, "--drain-bind-address=:8443"], {}, /needs certificates/],
    [[...open, "--drain-bind-address=127.0.0.1:0", "--drain-tls-key-file=k"], {}, /must be set all together/],
  ])("refuse %o with %o", (args, env, message) => {
    expect(() => parseActivatorConfig(args, env)).toThrow(ConfigError);
    expect(() => parseActivatorConfig(args, env)).toThrow(message);
  });

  it.each([
    [{ ROUTER_AUTH_TOKEN: " secret " }, { mode: "static-token", token: "secret" }],
    [{ ALLOW_UNAUTHENTICATED_ROUTER: "Yes" }, { mode: "allow-all" }],
  ])("authorize as %o sets", (env, authorization) => {
    expect(parseActivatorConfig([], env).authorization).toEqual(authorization);
  });

  it("take keys of scoped tokens of either version, and of both until a time", () => {
    const authorization = (...flags: readonly string[]) => parseActivatorConfig(flags).authorization;
    const keys = "--authz-scoped-token-verification-keys-file=k";
    const none = { mode: "scoped-token", secretFile: undefined, v1Until: undefined, keysFile: undefined };
    expect(authorization(...scoped)).toEqual({ ...none, secretFile: "s" });
    expect(authorization("--authz-mode=scoped-token", keys)).toEqual({ ...none, keysFile: "k" });
    expect(authorization(...scoped, keys, "--authz-scoped-token-v1-until=2027-01-31T00:00:00Z")).toEqual({
      ...{ ...none, secretFile: "s", keysFile: "k" },
      v1Until: new Date("2027-01-31T00:00:00Z"),
    });
  });

  it("enable tracing if a collector is named, unless a flag sets it", () => {
    const collectorFor = (env: object, ...flags: readonly string[]) =>
      parseActivatorConfig([...open, ...flags], { ...env }).traceCollector?.href;
    const named = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4317" };
    expect(collectorFor({})).toBeUndefined();
    expect(collectorFor(named)).toBe("http://collector:4317/");
    expect(collectorFor({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces:1" })).toBe("http://traces:1/");
    expect(collectorFor(named, "--enable-tracing=false")).toBeUndefined();
    expect(collectorFor({}, "--enable-tracing")).toBe("https://localhost:4317/");
  });

  it("configure paths and the cookie of browsers", () => {
    expect(parseActivatorConfig(open).pathRouting).toBeUndefined();
    expect(parseActivatorConfig([...open, "--path-routing-prefix=/a/b"]).pathRouting).toEqual({
      ...{ prefix: "/a/b", rewritesResponses: true, session: undefined },
    });
    const flags = ["--path-routing-prefix=/s", "--path-routing-rewrite-responses=false", "--authz-cookie-name=c.~-_"];
    const token = { ROUTER_AUTH_TOKEN: "x" };
    expect(parseActivatorConfig(flags, token).pathRouting).toEqual({
      ...{ prefix: "/s", rewritesResponses: false },
      session: {
        ...{ cookieName: "c.~-_", queryParameter: undefined, sameSite: "Lax", secure: true },
        ...{ allowedOrigins: [], trustsForwardedProto: false },
      },
    });
    const more = ["--authz-cookie-query-param=t", "--authz-cookie-samesite=none", "--authz-trust-forwarded-proto"];
    const origins = "--authz-cookie-allowed-origins=https://A.example:443, http://[::1]:80 ,http://b:81";
    expect(parseActivatorConfig([...flags, ...more, origins], token).pathRouting?.session).toEqual({
      ...{ cookieName: "c.~-_", queryParameter: "t", sameSite: "None", secure: true, trustsForwardedProto: true },
      allowedOrigins: ["https://a.example", "http://[::1]", "http://b:81"],
    });
  });

  it.each(["s", "/", "/s/", "//s", "/s//t", "/s t", "/s\n", "/s?x", "/s%2Ft", "/.", "/s/..", "/s/./t"])(
    "refuse the path prefix %j",
    (prefix) => {
      expect(() => parseActivatorConfig([...open, `--path-routing-prefix=${prefix}`])).toThrow(/path-routing-prefix/);
    },
  );

  const paths = "--path-routing-prefix=/s";
  const cookie = "--authz-cookie-name=c";
  it.each([
    [[cookie], /needs --path-routing-prefix/],
    [[paths, "--authz-cookie-query-param=t"], /query-param needs --authz-cookie-name/],
    [[paths, "--authz-cookie-allowed-origins=http://a"], /allowed-origins needs --authz-cookie-name/],
    [[paths, "--authz-trust-forwarded-proto"], /forwarded-proto needs --authz-cookie-name/],
    [[paths, cookie, "--authz-cookie-samesite=none", "--authz-cookie-insecure"], /contradict/],
    [[paths, cookie, "--authz-cookie-samesite=Lax"], /must be one of/],
    [[paths, "--authz-cookie-name=a b"], /may have/],
    [[paths, "--authz-cookie-name=__Host-c"], /must not begin with __Host-/],
    [[paths, cookie, "--authz-cookie-query-param=a&b"], /may have/],
    [[paths, cookie, "--authz-cookie-allowed-origins=https://a/b"], /is no origin/],
    [[paths, cookie, "--authz-cookie-allowed-origins=*"], /is no origin/],
  ])("refuse %o, which a token would not help", (args, message) => {
    expect(() => parseActivatorConfig(args, { ROUTER_AUTH_TOKEN: "x" })).toThrow(message);
  });

  it("refuse a cookie where nobody needs a token", () => {
    expect(() => parseActivatorConfig([...open, paths, cookie])).toThrow(/other than allow-all/);
  });

  it("configure token reviews", () => {
    const reviews = { ttlMs: 30_000, cacheSize: 2_048, tokenRequired: false, audiences: [], accessReviewed: false };
    const settingsOf = (...args: readonly string[]) =>
      parseActivatorConfig(["--authz-mode=tokenreview", ...args]).authorization;
    expect(settingsOf()).toEqual({ mode: "tokenreview", reviews });
    const flags = ["--authz-tokenreview-require-token", "--authz-tokenreview-audiences=a, b", "--authz-access-review"];
    expect(settingsOf(...flags, "--authz-tokenreview-ttl=1m", "--authz-tokenreview-cache-size=5")).toEqual({
      mode: "tokenreview",
      reviews: { ttlMs: 60_000, cacheSize: 5, tokenRequired: true, audiences: ["a", "b"], accessReviewed: true },
    });
    expect(() => settingsOf("--authz-tokenreview-ttl=0s")).toThrow("authz-tokenreview-ttl");
    expect(() => settingsOf("--authz-tokenreview-cache-size=0")).toThrow("authz-tokenreview-cache-size");
  });

  it("disable the drain listener by default, and limit it to loopback without certificates", () => {
    expect(parseActivatorConfig(open).drain).toBeUndefined();
    const loopback = parseActivatorConfig([...open, "--drain-bind-address=127.0.0.1:0"]);
    expect(loopback.drain).toEqual({ host: "127.0.0.1", port: 0, tls: undefined });
    const files = ["--drain-tls-cert-file=c", "--drain-tls-key-file=k", "--drain-client-ca-file=a"];
    const everywhere = parseActivatorConfig([...open, "--drain-bind-address=:8443", ...files]);
    expect(everywhere.drain?.tls).toEqual({ certificate: "c", key: "k", clientAuthority: "a" });
  });

  it("retry a closed port for as long as the ecosystem's router", () => {
    expect(parseActivatorConfig(open).dialRetryMs).toBe(200 + 400 + 800);
  });
});

describe("the front of raw connections", () => {
  const open = ["--authz-mode=allow-all"];
  const drain = [...open, "--drain-bind-address=127.0.0.1:8446"];

  it("is enabled with the drain listener, unless it is disabled", () => {
    expect(parseActivatorConfig(open).tcpFront).toBeUndefined();
    expect(parseActivatorConfig(drain).tcpFront).toEqual({ host: undefined, podIp: undefined });
    expect(parseActivatorConfig([...drain, "--tcp-front=off"]).tcpFront).toBeUndefined();
  });

  it("reads its bind address, and the address in slices", () => {
    const config = parseActivatorConfig([...drain, "--tcp-front-bind-address=::1"], { POD_IP: "10.1.2.3" });
    expect(config.tcpFront).toEqual({ host: "::1", podIp: "10.1.2.3" });
  });

  it.each([
    { args: [...open, "--by-name-bind-address=:1", "--domain="], env: {}, says: "needs --domain" },
    {
      ...{ args: [...open, "--proxy-protocol-networks=10.0.0.0/8,lb.example"], env: {} },
      says: '--proxy-protocol-networks: "lb.example" is not a network like 10.0.0.0/8',
    },
    { args: [...open, "--tcp-front=on"], env: {}, says: "--tcp-front=on needs --drain-bind-address" },
    {
      args: [...open, "--http2=false", "--grpc-web-origins=http://a"],
      env: {},
      says: "--grpc-web-origins needs --http2",
    },
    { args: [...drain, "--tcp-front-bind-address=127.0.0.1:80"], env: {}, says: "is no address" },
    { args: drain, env: { POD_IP: "pod" }, says: "POD_IP" },
  ])("refuses $says", ({ args, env, says }) => {
    expect(() => parseActivatorConfig(args, env)).toThrow(says);
  });
});

describe("the listeners of the activator", () => {
  const https = ["--https-bind-address=:8443", "--tls-cert-file=/c/tls.crt", "--tls-key-file=/c/tls.key"];

  it("are HTTP by default, and may be both or HTTPS alone", () => {
    expect(parseActivatorConfig(open)).toMatchObject({ http: { port: 8080 }, https: undefined });
    expect(parseActivatorConfig([...open, ...https])).toMatchObject({
      http: { port: 8080 },
      https: { port: 8443, files: { certificate: "/c/tls.crt", key: "/c/tls.key" }, clients: "off" },
    });
    expect(parseActivatorConfig([...open, ...https, "--http-bind-address="]).http).toBeUndefined();
    const mutual = ["--mtls-mode=required", "--tls-client-ca-file=/c/ca.crt"];
    expect(parseActivatorConfig([...open, ...https, ...mutual]).https).toMatchObject({
      clients: "required",
      clientAuthorityFile: "/c/ca.crt",
    });
  });

  it.each([
    [["--http-bind-address="], /--http-bind-address or --https-bind-address must be given/],
    [["--http-bind-address=0"], /--http-bind-address or --https-bind-address must be given/],
    [["--https-bind-address=:8443"], /needs --tls-cert-file and --tls-key-file/],
    [["--mtls-mode=required", "--tls-client-ca-file=x"], /needs --https-bind-address/],
    [[...https, "--mtls-mode=optional"], /needs --tls-client-ca-file/],
  ])("are refused with %j", (flags, message) => {
    expect(() => parseActivatorConfig([...open, ...flags])).toThrow(message);
  });

  it("log by the ecosystem's flags, unless our own flag is set", () => {
    expect(parseActivatorConfig([...open, "--zap-devel", "--zap-encoder=console"]).logLevel).toBe("debug");
    expect(parseActivatorConfig([...open, "--zap-log-level=error"]).logLevel).toBe("error");
    expect(parseActivatorConfig([...open, "--zap-log-level=error", "--log-level=silent"]).logLevel).toBe("silent");
    expect(() => parseActivatorConfig([...open, "--zap-log-level=loud"])).toThrow(ConfigError);
  });

  it("wait for a response head for the proxy timeout by default", () => {
    expect(parseActivatorConfig(open).responseHeaderTimeoutMs).toBe(Number.POSITIVE_INFINITY);
    expect(parseActivatorConfig([...open, "--response-header-timeout=30s"]).responseHeaderTimeoutMs).toBe(30_000);
  });
});
