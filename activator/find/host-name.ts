import { LRUCache } from "lru-cache";
import { ownText } from "../../lib/data/own-text.ts";
import { hostBytesMax } from "../http1/parse/authority.ts";

/** The meaning of a host name. */
export type HostMeaning =
  /** A name under the domain: it names this sandbox. */
  | { readonly is: "sandbox"; readonly name: string; readonly namespace: string; readonly port: number | undefined }
  /** An in-cluster Service name: it names the sandbox of this name, whether or not there is one. */
  | { readonly is: "service"; readonly name: string; readonly namespace: string }
  /** A name under the domain in neither of the two forms. */
  | { readonly is: "unknown" }
  /** Any other host, such as the activator's Service name; headers may name the sandbox. */
  | { readonly is: "other" }
  /** A host on which headers may name no sandbox. */
  | { readonly is: "foreign" }
  | { readonly is: "malformed" };

export interface Domains {
  /** Sandboxes are `name.namespace.DOMAIN` and `port--name--namespace.DOMAIN`; empty: both forms are disabled. */
  readonly domain: string;
  /** The domain of the cluster's DNS, such as `cluster.local`. */
  readonly clusterDomain: string;
  /** The names of the activator's own Services, in lower case: in every namespace, these name no sandbox. */
  readonly serviceNames: readonly string[];
  /** The only other hosts on which headers may name a sandbox, in lower case without a port; absent: all. */
  readonly headerHosts?: readonly string[] | undefined;
}

/** RFC 1123 label. */
export const isLabel = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);

/** A TCP port in decimal; SDKs may write a plus sign. Undefined if malformed. */
export function parsePort(text: string): number | undefined {
  const port = /^\+?[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** Parsed hosts, for each set of domains: most requests repeat a recent host. */
const meanings = new WeakMap<Domains, LRUCache<string, HostMeaning>>();
const rememberedMax = 4_096;
/** Of a host name and its port. A longer text comes from an `Origin` or from TLS: it names nothing, and is not cached. */
const hostTextMax = hostBytesMax + ":65535".length;

/** Parses the value of a Host header. Its port is the listener's, not the sandbox's. */
export function readHost(host: string, domains: Domains): HostMeaning {
  if (host.length > hostTextMax) return { is: "malformed" };
  let known = meanings.get(domains);
  if (!known) {
    known = new LRUCache({ max: rememberedMax });
    meanings.set(domains, known);
  }
  let meaning = known.get(host);
  if (meaning === undefined) {
    const own = ownText(host);
    meaning = interpret(own, domains);
    known.set(own, meaning);
  }
  return meaning;
}

function interpret(host: string, domains: Domains): HostMeaning {
  const meaning = interpretName(host, domains);
  const { headerHosts } = domains;
  if (meaning.is !== "other" || !headerHosts) return meaning;
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  return headerHosts.includes(name) ? meaning : { is: "foreign" };
}

function interpretName(host: string, { domain, clusterDomain, serviceNames }: Domains): HostMeaning {
  if (host === "" || /^\[[0-9a-f:.]+\](:\d*)?$/i.test(host)) return { is: "other" };
  const match = /^([a-z0-9._-]+)(:\d*)?$/i.exec(host);
  if (!match) return { is: "malformed" };
  const name = (match[1] ?? "").toLowerCase().replace(/\.$/, "");
  const underDomain = withoutSuffix(name, domain);
  if (underDomain !== undefined) return readDomainName(underDomain.split("."));
  const service = withoutSuffix(name, `svc.${clusterDomain}`) ?? withoutSuffix(name, "svc");
  return service === undefined ? { is: "other" } : readServiceName(service.split("."), serviceNames);
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

// One label, for wildcard certificates that cover one. Names with `--` have no such form: with two readings one sandbox could
// pose as another.
function readSingleLabel(label: string): HostMeaning {
  const [portText = "", name = "", namespace = "", ...more] = label.split("--");
  const port = parsePort(portText);
  if (more.length > 0 || port === undefined || !/^[0-9]/.test(portText)) return { is: "unknown" };
  if (!isLabel(name) || !isLabel(namespace)) return { is: "unknown" };
  return { is: "sandbox", name, namespace, port };
}

function readServiceName(labels: readonly string[], serviceNames: readonly string[]): HostMeaning {
  const [name = "", namespace = "", ...more] = labels;
  if (more.length > 0 || !isLabel(name) || !isLabel(namespace)) return { is: "other" };
  return serviceNames.includes(name) ? { is: "other" } : { is: "service", name, namespace };
}
