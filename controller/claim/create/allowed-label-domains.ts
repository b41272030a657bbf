import { readFile } from "node:fs/promises";

/** Mount path of an optional ConfigMap of the install namespace. */
export const labelDomainsFile = "/etc/sandbox-config/allowed-label-domains";

export const defaultLabelDomains: readonly string[] = ["sandbox.users.io"];

/** Domains separated by commas or line ends; the default if the text names no domain. */
export function parseLabelDomains(text: string): readonly string[] {
  const domains = text.split(/[,\n]/).map((domain) => domain.trim().toLowerCase());
  const given = domains.filter((domain) => domain !== "");
  return given.length > 0 ? given : defaultLabelDomains;
}

/** @throws Error when the file exists and cannot be read: a rule that cannot be read must not be ignored. */
export async function readLabelDomains(path: string): Promise<readonly string[]> {
  try {
    return parseLabelDomains(await readFile(path, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return defaultLabelDomains;
    throw new Error(`cannot read the allowed label domains from ${path}`, { cause: error });
  }
}
