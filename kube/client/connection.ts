import { existsSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { connectionOfPod, type Environment } from "./in-pod.ts";
import { assumedServer, plainServerOf } from "./plain-kubeconfig.ts";

/** The TLS settings for the server and our identity. */
export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** The address of the API server, and our credentials. */
export interface KubeConnection {
  /** An `http:` or `https:` URL; its path, if any, is prepended to every request's. */
  readonly server: string;
  /** Another object once it has changed, which `authHeaders` finds out: new connections use it. */
  readonly tls: TlsMaterial;
  /** Called before every request, because tokens, certificates and CAs are renewed while the process runs. */
  authHeaders(): Promise<Readonly<Record<string, string>>>;
  /**
   * The server has answered 401, or there was no connection to it: the credentials, or its CA, may have been renewed since they were
   * read. Absent: they are read each time.
   */
  refused?(): void;
}

/** No usable connection to an API server is configured; the message has the remedy. */
export class NoConnection extends Error {
  override readonly name = "NoConnection";
}

/** A connection from known values: to the local API server, or to a test's. */
export function connectionFor(options: {
  readonly server: string;
  readonly token?: string;
  /** PEM. */
  readonly ca?: string;
}): KubeConnection {
  const headers: Record<string, string> = options.token ? { authorization: `Bearer ${options.token}` } : {};
  return {
    server: options.server,
    tls: options.ca === undefined ? {} : { ca: options.ca },
    authHeaders: async () => headers,
  };
}

export interface ConnectionOptions {
  readonly kubeconfig?: string | undefined;
  readonly environment: Environment;
}

/**
 * The configured connection: the given kubeconfig, else `KUBECONFIG`, else the one in the home directory, else the
 * service account of our own Pod. Tokens, certificates and CAs from files and exec plugins are renewed.
 *
 * @throws NoConnection when none is configured, it does not parse, or it requires a proxy.
 */
export async function loadConnection(options: ConnectionOptions): Promise<KubeConnection> {
  const { HOME: home = homedir(), KUBECONFIG } = options.environment;
  const hasKubeconfig = options.kubeconfig || KUBECONFIG || existsSync(join(home, ".kube", "config"));
  const ofPod = hasKubeconfig ? undefined : connectionOfPod(options.environment);
  if (ofPod) return ofPod;
  const path = options.kubeconfig || KUBECONFIG;
  const plainServer = path && !path.includes(delimiter) ? await plainServerOf(path) : undefined;
  if (plainServer !== undefined) return connectionFor({ server: plainServer });
  // Its generated classes take most of a second to load, and local mode does not need them.
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    if (options.kubeconfig) config.loadFromFile(options.kubeconfig);
    else config.loadFromDefault();
  } catch (cause) {
    const where = options.kubeconfig ?? "the environment's kubeconfig";
    throw new NoConnection(`${where} cannot be read: ${String(cause)}`, { cause });
  }
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) throw new NoConnection("the kubeconfig has no current context with a cluster");
  // The library's default, which no configuration requested.
  if (cluster.name === "cluster" && cluster.server === assumedServer) {
    throw new NoConnection("no API server is configured: give --kubeconfig, set KUBECONFIG, or run inside a cluster");
  }
  if (cluster.proxyUrl) throw new NoConnection(`cluster ${cluster.name}: proxy-url is not supported`);
  // As kubectl does: no credentials over plain HTTP.
  if (cluster.server.startsWith("http:")) return connectionFor({ server: cluster.server });

  const credentials = async (): Promise<RequestOptions> => {
    const found: RequestOptions = {};
    await config.applyToHTTPSOptions(found);
    return found;
  };
  let tls = tlsOf(await credentials());
  return {
    server: cluster.server,
    get tls() {
      return tls;
    },
    async authHeaders() {
      const found = await credentials();
      const now = tlsOf(found);
      if (!isDeepStrictEqual(now, tls)) tls = now;
      return headersOf(found);
    },
  };
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsMaterial {
  return {
    ...(isPem(ca) && { ca }),
    ...(isPem(cert) && { cert }),
    ...(isPem(key) && { key }),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  };
}

const isPem = (value: unknown): value is string | Buffer => typeof value === "string" || Buffer.isBuffer(value);

function headersOf({ headers, auth }: RequestOptions): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  if (auth) found["authorization"] = `Basic ${Buffer.from(auth).toString("base64")}`;
  // Token files commonly end in a line break, which is invalid in a header.
  for (const [name, value] of Object.entries(headers ?? {})) found[name.toLowerCase()] = String(value).trim();
  return found;
}
