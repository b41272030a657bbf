import { LRUCache } from "lru-cache";

/** What a host name says about a sandbox. */
export type HostMeaning =
  /** A name under the domain: it names this sandbox and nothing else. */
  | { readonly is: "sandbox"; readonly name: string; readonly namespace: string; readonly port: number | undefined }
  /** An in-cluster Service name: a sandbox's if there is one, else some other Service's, such as our own. */
  | { readonly is: "service"; readonly name: string; readonly namespace: string }
  /** Under the domain, but of no form that names a sandbox. */
  | { readonly is: "unknown" }
  /** Any other host; headers may say which sandbox is meant. */
  | { readonly is: "other" }
  | { readonly is: "malformed" };

export interface Domains {
  /** Sandboxes are `name.namespace.DOMAIN` and `port--name--namespace.DOMAIN`; empty switches both forms off. */
  readonly domain: string;
  /** Of the cluster's DNS, such as `cluster.local`. */
  readonly clusterDomain: string;
}

/** RFC 1123 label. */
export const isLabel = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);

/** A TCP port in decimal; a plus sign is allowed for the SDKs' sake. Undefined when it is none. */
export function parsePort(text: string): number | undefined {
  const port = /^\+?[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** What the hosts of late meant, for each set of domains: most requests name a host that was named before. */
const meanings = new WeakMap<Domains, LRUCache<string, HostMeaning>>();
const rememberedMax = 4_096;

/** Reads the value of a Host header. Its port is ours, not the sandbox's. */
export function readHost(host: string, domains: Domains): HostMeaning {
  let known = meanings.get(domains);
  if (!known) {
    known = new LRUCache({ max: rememberedMax });
    meanings.set(domains, known);
  }
  let meaning = known.get(host);
  if (meaning === undefined) {
    meaning = interpret(host, domains);
    known.set(host, meaning);
  }
  return meaning;
}

function interpret(host: string, { domain, clusterDomain }: Domains): HostMeaning {
  if (host === "" || /^\[[0-9a-f:.]+\](:\d*)?$/i.test(host)) return { is: "other" };
  const match = /^([a-z0-9._-]+)(:\d*)?$/i.exec(host);
  if (!match) return { is: "malformed" };
  const name = (match[1] ?? "").toLowerCase().replace(/\.$/, "");
  const underDomain = withoutSuffix(name, domain);
  if (underDomain !== undefined) return readDomainName(underDomain.split("."));
  const service = withoutSuffix(name, `svc.${clusterDomain}`) ?? withoutSuffix(name, "svc");
  return service === undefined ? { is: "other" } : readServiceName(service.split("."));
}

function withoutSuffix(name: string, suffix: string): string | undefined {
  if (suffix === "" || !name.endsWith(`.${suffix}`)) return undefined;
  return name.slice(0, -suffix.length - 1);
}

function readDomainName(labels: readonly string[]): HostMeaning {
  const [first = "", second, ...more] = labels;
  if (more.length > 0) return { is: "unknown" };
  if (second === undefined) return readSingleLabel(first);
  if (!isLabel(first) || !isLabel(second)) return { is: "unknown" };
  return { is: "sandbox", name: first, namespace: second, port: undefined };
}

// One label, for wildcard certificates that cover one. A name with `--` in it has no such form: two readings of one
// name would let one sandbox pose as another.
function readSingleLabel(label: string): HostMeaning {
  const [portText = "", name = "", namespace = "", ...more] = label.split("--");
  const port = parsePort(portText);
  if (more.length > 0 || port === undefined || !/^[0-9]/.test(portText)) return { is: "unknown" };
  if (!isLabel(name) || !isLabel(namespace)) return { is: "unknown" };
  return { is: "sandbox", name, namespace, port };
}

function readServiceName(labels: readonly string[]): HostMeaning {
  const [name = "", namespace = "", ...more] = labels;
  return more.length === 0 && isLabel(name) && isLabel(namespace)
    ? { is: "service", name, namespace }
    : { is: "other" };
}
