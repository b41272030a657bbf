/**
 * Headers that decide where a request goes, or state where it came from:
 *
 * - `forwarded`: what proxies state about their clients. `X-Forwarded-Client-Cert` may even name an authenticated caller.
 * - `routing`: names a sandbox.
 * - `rewriting`: some programs read them as another target or method of the request.
 */
export type HeaderFamily = "forwarded" | "routing" | "rewriting";

interface Members {
  /** Whole names, in lower case. */
  readonly names: readonly string[];
  /** Names that may continue with `-`. */
  readonly beginnings: readonly string[];
}

export const headerFamilies: Readonly<Record<HeaderFamily, Members>> = {
  forwarded: { names: ["forwarded", "x-real-ip"], beginnings: ["x-forwarded"] },
  routing: { names: [], beginnings: ["x-sandbox"] },
  rewriting: { names: [], beginnings: ["x-original", "x-rewrite", "x-http-method", "x-method-override", "x-override"] },
};

const inOrder = Object.entries(headerFamilies) as readonly [HeaderFamily, Members][];

/**
 * The name of a header in lower case, with `-` for every character but letters and digits. CGI, WSGI and similar interfaces
 * read all such spellings as one variable (RFC 3875, 4.1.18): `X_Forwarded.For` is `X-Forwarded-For` to them.
 */
export const programsRead = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "-");

/** The family of a header in any spelling; undefined without a family. */
export function headerFamily(name: string): HeaderFamily | undefined {
  const read = programsRead(name);
  const goesOn = (beginning: string) => read === beginning || read.startsWith(`${beginning}-`);
  return inOrder.find(([, { names, beginnings }]) => names.includes(read) || beginnings.some(goesOn))?.[0];
}

/** Of the rewriting family, but from proxies that tell by them whom they serve: programs take no target or method from these. */
const aboutClients = /^x-original-(?:forwarded|for|host|port|proto|scheme)(?:-|$)/;

/** Whether some programs read this header as another target or method of its request, in any spelling. */
export const rewritesRequest = (name: string): boolean =>
  headerFamily(name) === "rewriting" && !aboutClients.test(programsRead(name));
