import { hostOfOrigin } from "./foreign-page.ts";
import { type Domains, readHost } from "./host-name.ts";

/** Which web pages of other hosts may call sandboxes by gRPC-Web. */
export interface CallingPages extends Domains {
  /** Origins in lower case, besides those of the sandbox itself; `*`: all; absent: none. */
  readonly webOrigins?: readonly string[] | undefined;
  readonly refusesForeignPages?: boolean;
}

/**
 * The origin of the page that sends the request, if that page may call this host: one of the same sandbox, whatever the port, or
 * one of a listed origin. The host of a sandbox names its port, so its page and its service have different origins. `scheme`: of the
 * request's connection. Anybody on the network can write a page that came without TLS, so it is not the sandbox's to a request with TLS.
 */
export function callingOrigin(
  host: string,
  valuesOf: (name: string) => readonly string[],
  pages: CallingPages,
  scheme?: "http" | "https",
): string | undefined {
  const [origin, ...others] = valuesOf("origin");
  if (origin === undefined || others.length > 0 || !/^[\x21-\x7e]+$/.test(origin)) return undefined;
  const { webOrigins = [] } = pages;
  const isListed = webOrigins.includes("*") || webOrigins.includes(origin.toLowerCase());
  if (isListed) return origin;
  const isExposed = scheme === "https" && !/^https:/i.test(origin);
  return !isExposed && isOfSandbox(origin, host, pages) ? origin : undefined;
}

function isOfSandbox(origin: string, host: string, domains: Domains): boolean {
  const page = readHost(hostOfOrigin(origin) ?? "", domains);
  const asked = readHost(host, domains);
  if (page.is !== "sandbox" || asked.is !== "sandbox") return false;
  return page.name === asked.name && page.namespace === asked.namespace;
}
