import { join } from "node:path";
import { getCiphers, type SecureVersion } from "node:tls";
import type { CertificateFiles } from "../../lib/certificates/certificate-files.ts";
import type { FlagValues } from "../../lib/flags/flags.ts";
import { type BindAddress, parseBindAddress } from "../../lib/net/bind-address.ts";
import type { controllerFlags } from "./controller-flags.ts";

/** How metrics, and profiles if they are asked for, are served. */
export interface MetricsConfig {
  readonly address: BindAddress;
  /** Undefined: without encryption. */
  readonly tls: MetricsTls | undefined;
  /** `cpu`: of the processor only; `all`: of memory and waiting too, for which a little is recorded all the time. */
  readonly profiles: "none" | "cpu" | "all";
}

export interface MetricsTls {
  /** Undefined: a self-signed certificate is made. */
  readonly files: CertificateFiles | undefined;
  readonly minVersion: SecureVersion;
  /** As OpenSSL lists them; undefined: Node's choice. */
  readonly ciphers: string | undefined;
}

type Values = FlagValues<typeof controllerFlags>;

const versions: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};

/**
 * Undefined: they are not served.
 *
 * @throws Error for an address, a TLS version or a cipher suite that is none.
 */
export function metricsConfigOf(values: Values): MetricsConfig | undefined {
  const address = parseBindAddress(values["metrics-bind-address"]);
  const tls = metricsTlsOf(values);
  if (!address) return undefined;
  const profiles = values["enable-pprof-debug"] ? "all" : values["enable-pprof"] ? "cpu" : "none";
  return { address, tls: values["metrics-secure-serving"] ? tls : undefined, profiles };
}

function metricsTlsOf(values: Values): MetricsTls {
  const minVersion = versions[values["tls-min-version"]];
  if (!minVersion) {
    throw new Error(`--tls-min-version: "${values["tls-min-version"]}" is none of ${Object.keys(versions).join(", ")}`);
  }
  const directory = values["metrics-cert-dir"];
  const suites = values["tls-cipher-suites"].split(",").flatMap((name) => name.trim() || []);
  return {
    files: directory ? { certificate: join(directory, "tls.crt"), key: join(directory, "tls.key") } : undefined,
    minVersion,
    ciphers: suites.length > 0 ? suites.map(toOpenSslName).join(":") : undefined,
  };
}

const knownSuites = new Set(getCiphers().map((name) => name.toUpperCase()));

/** `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`, as the IANA and Go have it, is `ECDHE-RSA-AES128-GCM-SHA256` to OpenSSL. */
function toOpenSslName(suite: string): string {
  const name = suite
    .replace(/^TLS_(?=.*_WITH_)/, "")
    .replace(/^RSA_WITH_|_WITH_/, (found) => (found === "_WITH_" ? "-" : ""))
    .replace(/AES_(128|256)_CBC_/, "AES$1-")
    .replace(/AES_(128|256)_GCM_/, "AES$1-GCM-")
    .replace(/CHACHA20_POLY1305(_SHA256)?$/, "CHACHA20-POLY1305")
    .replaceAll("_", "-");
  if (!suite.startsWith("TLS_") || !knownSuites.has(name)) {
    throw new Error(`--tls-cipher-suites: "${suite}" is not a cipher suite that can be chosen`);
  }
  return name;
}
