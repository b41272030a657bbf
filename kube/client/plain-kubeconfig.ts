import { readFileSync } from "node:fs";

/** The address that the kubeconfig library assumes where nothing is configured. */
export const assumedServer = "http://localhost:8080";

/**
 * The address of the server in a kubeconfig with one context, if it is a plain HTTP address, such as that of `kubectl proxy`. Such
 * a server gets no credentials, so the kubeconfig library has nothing to add, and takes most of a second and 60 MiB to load.
 * Undefined for any other kubeconfig: the library reads it, and names what is wrong with it.
 */
export async function plainServerOf(path: string): Promise<string | undefined> {
  const config = await readConfig(path);
  const [context, cluster] = [onlyEntry(config["contexts"]), onlyEntry(config["clusters"])];
  if (!context || !cluster || context["name"] !== config["current-context"]) return undefined;
  if (typeof cluster["name"] !== "string" || recordOf(context["context"])["cluster"] !== cluster["name"])
    return undefined;
  const { server, "proxy-url": proxy } = recordOf(cluster["cluster"]);
  if (typeof server !== "string" || !server.startsWith("http:") || server === assumedServer) return undefined;
  return proxy === undefined ? server.replace(/\/$/, "") : undefined;
}

async function readConfig(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const text = readFileSync(path, "utf8");
    return recordOf(text.startsWith("{") ? JSON.parse(text) : (await import("yaml")).parse(text));
  } catch {
    return {};
  }
}

const onlyEntry = (list: unknown): Readonly<Record<string, unknown>> | undefined =>
  Array.isArray(list) && list.length === 1 ? recordOf(list[0]) : undefined;

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
