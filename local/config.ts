import { quotaBytesMax } from "../apiserver/storage/quota.ts";
import { FlagError, type FlagTable, type FlagValues, flag, parseFlags } from "../lib/flags/flags.ts";

const port = (value: number) => (value >= 0 && value <= 65_535 ? undefined : "must be a port, 0 to 65535 (0: any)");

export const localFlags = {
  port: flag.integer(8080, "port of the activator, through which clients reach sandboxes; 0 means any", port),
  "api-port": flag.integer(6443, "port of the API server, for kubectl; 0 means any", port),
  "allowed-hosts": flag.string(
    "",
    "host names on which the activator accepts X-Sandbox headers, and whose web pages may send requests to sandboxes, besides localhost, 127.0.0.1 and [::1]; separated by commas",
  ),
  http2: flag.boolean(true, "accept HTTP/2, gRPC and gRPC-Web from clients, as --http2 of the activator"),
  "grpc-web-origins": flag.string(
    "",
    "origins whose web pages may send calls of gRPC-Web to any sandbox, such as http://localhost:3000, separated by commas, as --grpc-web-origins of the activator; their hosts must be loopback names or in --allowed-hosts; needs --http2",
  ),
  "path-routing-prefix": flag.string(
    "",
    "serve sandboxes at PREFIX/NAMESPACE/NAME/PORT/ too, as --path-routing-prefix of the activator",
  ),
  "by-name-port": flag.string(
    "",
    "port of the by-name listener of the activator, for TLS that the sandbox decrypts itself and for PostgreSQL; 0 means any; empty: disabled",
    (text) =>
      text === "" || (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) ? undefined : "must be a port, 0 to 65535",
  ),
  "data-dir": flag.string(".rouse", "directory of objects, volumes, logs and the kubeconfig"),
  "api-quota": flag.integer(
    0,
    "MiB that all objects may have: their bytes in JSON, and 100 bytes for each value; at most 480; 0: an eighth of the heap limit of Node, if that is less",
    (value) => (value >= 0 && value * 1024 ** 2 <= quotaBytesMax ? undefined : "must be from 0 to 480"),
  ),
  ephemeral: flag.boolean(false, "instead of --data-dir, use a temporary directory that is removed at exit"),
  example: flag.boolean(true, "create the two example sandboxes and wake one of them"),
  "no-example": flag.boolean(false, "do not create the example sandboxes, and wake none; the same as --example=false"),
  "ready-file": flag.string(
    "",
    "path of a JSON file that is written once everything is ready, and removed at the end; it has the addresses",
  ),
  "log-level": flag.string(
    "warn",
    "log level: debug, info, warn, error or silent; the log goes to standard error",
    (level) => (["debug", "info", "warn", "error", "silent"].includes(level) ? undefined : "must be a log level"),
  ),
} satisfies FlagTable;

export interface LocalConfig {
  readonly port: number;
  readonly apiPort: number;
  /** Beside the loopback names. */
  readonly allowedHosts: string;
  readonly http2: boolean;
  readonly webOrigins: string;
  readonly pathRoutingPrefix: string;
  /** Undefined: the by-name listener is disabled. */
  readonly byNamePort: number | undefined;
  /** Undefined: a temporary folder, removed at exit. */
  readonly dataDir: string | undefined;
  /** Undefined: what fits into the heap. */
  readonly quotaBytes: number | undefined;
  readonly examples: boolean;
  readonly readyFile: string | undefined;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/** @throws HelpRequested, FlagError like parseFlags, and for words that are no flags. */
export function parseLocalConfig(args: readonly string[]): LocalConfig {
  const { values, rest } = parseFlags(localFlags, args);
  if (rest.length > 0) throw new FlagError(rest.map((word) => `unexpected argument: ${word}`).join("\n"));
  if (values["grpc-web-origins"] !== "" && !values.http2) throw new FlagError("--grpc-web-origins needs --http2");
  return toConfig(values);
}

function toConfig(values: FlagValues<typeof localFlags>): LocalConfig {
  return {
    port: values.port,
    apiPort: values["api-port"],
    allowedHosts: values["allowed-hosts"],
    http2: values.http2,
    webOrigins: values["grpc-web-origins"],
    pathRoutingPrefix: values["path-routing-prefix"],
    byNamePort: values["by-name-port"] === "" ? undefined : Number(values["by-name-port"]),
    dataDir: values.ephemeral ? undefined : values["data-dir"],
    quotaBytes: values["api-quota"] === 0 ? undefined : values["api-quota"] * 1024 ** 2,
    examples: values.example && !values["no-example"],
    readyFile: values["ready-file"] === "" ? undefined : values["ready-file"],
    logLevel: values["log-level"] as LocalConfig["logLevel"], // its check has rejected other values
  };
}
