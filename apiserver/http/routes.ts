/** A path below `/api` or `/apis` of a collection, an object or a subresource. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/**
 * Parses `/api/v1/…` and `/apis/GROUP/VERSION/…`. Undefined for paths of discovery, health and OpenAPI, and for unknown
 * paths.
 */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const parts = decodeParts(path);
  if (!parts || parts.includes("")) return undefined;
  const [root, ...below] = parts;
  if (root === "api") return resourceBelow("", below);
  const [group, ...rest] = below;
  return root === "apis" && group !== undefined ? resourceBelow(group, rest) : undefined;
}

function resourceBelow(group: string, parts: readonly string[]): ResourcePath | undefined {
  const [version, ...rest] = parts;
  if (version === undefined || rest.length === 0) return undefined;
  const inNamespace = rest[0] === "namespaces" && rest.length >= 3 && !namespaceSubresources.has(rest[2] ?? "");
  const [plural, name, subresource, ...tooMuch] = inNamespace ? rest.slice(2) : rest;
  if (plural === undefined || tooMuch.length > 0) return undefined;
  return { group, version, plural, namespace: inNamespace ? rest[1] : undefined, name, subresource };
}

// `/namespaces/NAME/status` is a subresource of the namespace, not a collection in it.
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"]);

function decodeParts(path: string): readonly string[] | undefined {
  try {
    return path.replace(/\/$/, "").split("/").slice(1).map(decodeURIComponent);
  } catch {
    return undefined; // a malformed % escape
  }
}
