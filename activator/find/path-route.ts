import { ownText } from "../../lib/data/own-text.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import { pathOf, type RequestHead } from "../request.ts";
import { type Domains, isLabel, parsePort, readHost } from "./host-name.ts";

/** A sandbox that the path of a request names: `PREFIX/NAMESPACE/NAME/PORT/...`, or `PREFIX/-/NAMESPACE/NAME/PORT/...`. */
export interface PathRoute {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** `PREFIX/NAMESPACE/NAME/PORT/`, without escapes: the root of the sandbox, as its clients see it. */
  readonly base: string;
  /** The characters of the request target before the sandbox's own path. */
  readonly length: number;
  /** The path is the activator's own, for links with a token: no sandbox serves it. */
  readonly isEntry: boolean;
}

/** The segment of an entry path. It is no label, so no namespace has it. */
const entrySegment = "-";

export interface PathOptions extends Domains {
  /** Absent: no path names a sandbox. */
  readonly pathRouting?: { readonly prefix: string } | undefined;
}

/**
 * The prefix, if the path of the request has the form of a sandbox's name. Calls of gRPC cannot set a prefix, so theirs names none; those of
 * gRPC-Web can.
 */
export function prefixOf(head: RequestHead, options: PathOptions): string | undefined {
  const isNative = head.grpc !== undefined && !head.grpc.web;
  return !isNative && isBelowPrefix(head, options) ? options.pathRouting?.prefix : undefined;
}

/**
 * Whether the path has the prefix, whatever names the sandbox. A browser adds the cookie of a sandbox to all requests below its path. On
 * a host that names a sandbox every path is the sandbox's.
 */
export function isBelowPrefix({ target, host }: RequestHead, options: PathOptions): boolean {
  const prefix = options.pathRouting?.prefix;
  if (prefix === undefined || !target.startsWith(prefix)) return false;
  const next = target[prefix.length];
  if (next !== undefined && next !== "/" && next !== "?") return false;
  return readHost(host, options).is === "other";
}

/**
 * Reads the sandbox from a path that has the prefix. Only the three segments behind it are decoded, and only to labels and a port, so no
 * escape and no `..` in them has a meaning. The rest is the sandbox's, byte for byte.
 *
 * @throws ActivatorError if the path names no sandbox.
 */
export function readPathRoute(target: string, prefix: string): PathRoute {
  const isEntry = target.startsWith(`/${entrySegment}/`, prefix.length);
  const start = isEntry ? prefix.length + entrySegment.length + 1 : prefix.length;
  const [, namespaceText, nameText, portText] = pathOf(target).slice(start).split("/", 4);
  if (namespaceText === undefined || nameText === undefined || portText === undefined)
    throw new ActivatorError("BadSandboxPath", { because: `${prefix}/NAMESPACE/NAME/PORT/` });
  const namespace = decoded(namespaceText);
  const name = decoded(nameText);
  const port = parsePort(decoded(portText));
  if (!isLabel(name)) throw new ActivatorError("BadSandboxId");
  if (!isLabel(namespace)) throw new ActivatorError("BadNamespace");
  if (port === undefined) throw new ActivatorError("BadPort");
  const length = start + namespaceText.length + nameText.length + portText.length + 3;
  return {
    namespace: ownText(namespace),
    name: ownText(name),
    port,
    base: ownText(`${prefix}/${namespace}/${name}/${port}/`),
    length,
    isEntry,
  };
}

/** Without a meaning if its escapes are malformed: then it is no label and no port. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}
