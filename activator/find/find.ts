import { defaultPort, fallbackPort } from "../../api/rules/declared-ports.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { RequestHead } from "../request.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import { isOfForeignPage } from "./foreign-page.ts";
import { type Domains, readHost } from "./host-name.ts";
import { type PathOptions, type PathRoute, prefixOf, readPathRoute } from "./path-route.ts";
import { type RoutingHeaders, readRoutingHeaders, statedTimeoutMs } from "./routing-headers.ts";
import { sandboxOf } from "./sandbox-of.ts";

/** The sandbox of a request, and how the request named it. */
export interface Routed {
  readonly namespace: string;
  /** A checked label, so it may be shown to clients. */
  readonly name: string;
  /** Undefined: the sandbox's first declared port, which was not known when the request was read. */
  readonly port: number | undefined;
  /** The host named the sandbox. Such a request keeps the headers of that origin: Host, Origin, Authorization. */
  readonly byHost: boolean;
  /** The path named the sandbox; absent: the host or headers did. */
  readonly path?: PathRoute | undefined;
  readonly podIp: string | undefined;
  /** The Sandbox object that the client was authorized for; absent: whichever has the name. */
  readonly uid?: string | undefined;
  /** Whether a header named that object, too. */
  readonly byUid?: boolean;
  /** How long the client waits, in milliseconds from the request's head. */
  readonly timeoutMs: number | undefined;
  /** The error of this request, if it reveals which sandboxes exist. Only clients that may reach the named sandbox get it. */
  readonly refusal: ActivatorError | undefined;
}

export interface FindOptions extends PathOptions {
  /** Origins in lower case whose pages may send calls of gRPC-Web to any sandbox; absent: there are no such calls. */
  readonly webOrigins?: readonly string[] | undefined;
  readonly allowLoopbackPodIp: boolean;
  /** Whether requests of web pages are rejected unless the page is of a sandbox or a listed host; default: no. */
  readonly refusesForeignPages?: boolean;
}

/** Finds sandboxes by name. */
export interface Lookup<S = SlimSandbox> {
  /** The sandbox of this name. */
  sandbox(namespace: string, name: string): S | undefined;
  /** The sandbox that is bound to the claim of this name. */
  claimed(namespace: string, name: string): S | undefined;
}

const defaultNamespace = "default";

/**
 * Reads which sandbox a request names. Whether it exists is checked after authorization.
 *
 * @throws ActivatorError for errors that do not depend on the sandboxes: a host that names none, or malformed headers.
 */
export function find(head: RequestHead, options: FindOptions, lookup: Lookup): Routed {
  if (options.refusesForeignPages && isOfForeignPage(head.headers, options)) throw new ActivatorError("ForeignOrigin");
  const meaning = namedSandbox(head, options, lookup);
  const headers = readRoutingHeaders(head.headers, options.allowLoopbackPodIp);
  const timeoutMs = statedTimeoutMs(head);
  if (meaning === undefined) {
    const named = namedByPath(head, options, headers) ?? namedByHeaders(head, headers, lookup);
    return { ...named, byHost: false, podIp: headers.podIp, timeoutMs, refusal: undefined };
  }
  const { name, namespace, port } = meaning;
  return { name, namespace, port, byHost: true, podIp: headers.podIp, timeoutMs, refusal: refusalOf(meaning, headers) };
}

type NamedWithoutHost = Pick<Routed, "name" | "namespace" | "port" | "path" | "uid" | "byUid">;

/** Undefined: the path has no prefix. A malformed path is no reason to look at the headers. */
function namedByPath(head: RequestHead, options: FindOptions, headers: RoutingHeaders): NamedWithoutHost | undefined {
  const prefix = prefixOf(head, options);
  if (prefix === undefined) return undefined;
  const path = readPathRoute(head.target, prefix);
  const { name, namespace, port } = path;
  if (!agrees(headers, { label: name, name, namespace, port })) throw new ActivatorError("ConflictingHeaders");
  return { name, namespace, port, path };
}

function namedByHeaders({ grpc }: RequestHead, headers: RoutingHeaders, lookup: Lookup): NamedWithoutHost {
  if (headers.id === undefined) throw new ActivatorError("MissingSandboxId");
  if (grpc && headers.port === undefined) throw new ActivatorError("BadPort");
  const { id: name, namespace = defaultNamespace, port = fallbackPort, uid } = headers;
  // A former UID is ignored: SDKs keep it, and mean whichever sandbox has the name.
  const byUid = uid !== undefined && lookup.sandbox(namespace, name)?.metadata.uid === uid;
  return byUid ? { name, namespace, port, uid, byUid } : { name, namespace, port };
}

function refusalOf(meaning: Named, headers: RoutingHeaders): ActivatorError | undefined {
  // A page of one sandbox may set any header on requests to its own origin; that must not lead to another sandbox.
  return agrees(headers, meaning) ? undefined : new ActivatorError("ConflictingHeaders");
}

/**
 * Whether the host of a request has the form of a sandbox's name: then every path, even `/healthz`, belongs to the sandbox.
 * Which sandboxes exist must not matter: nobody is authorized yet.
 */
export function hostNamesSandbox(head: RequestHead, domains: Domains): boolean {
  const { is } = readHost(head.host, domains);
  return is === "sandbox" || is === "service" || is === "unknown";
}

/** What a host or a path names. */
interface Named {
  /** The name there: that of the sandbox, or of the claim it is bound to. */
  readonly label: string;
  readonly name: string;
  readonly namespace: string;
  readonly port: number | undefined;
}

function namedSandbox(head: RequestHead, options: FindOptions, lookup: Lookup): Named | undefined {
  const meaning = readHost(head.host, options);
  switch (meaning.is) {
    case "malformed":
      throw new ActivatorError("MalformedRequest", { because: "the Host header is no host name" });
    case "unknown":
      throw new ActivatorError("UnknownHost");
    case "foreign":
      throw new ActivatorError("ForeignHost");
    case "other":
      return undefined;
    case "sandbox":
      return named(meaning, sandboxOf(meaning, lookup));
    case "service":
      return named({ ...meaning, port: undefined }, sandboxOf(meaning, lookup));
  }
}

function named(
  { name, namespace, port }: Pick<Named, "name" | "namespace" | "port">,
  sandbox: SlimSandbox | undefined,
): Named {
  return {
    label: name,
    name: sandbox?.metadata.name ?? name,
    namespace,
    port: port ?? (sandbox && defaultPort(sandbox.spec.podTemplate.spec)),
  };
}

function agrees(headers: RoutingHeaders, named: Named): boolean {
  return (
    (headers.id === undefined || headers.id === named.label || headers.id === named.name) &&
    (headers.namespace ?? named.namespace) === named.namespace &&
    (headers.port === undefined || named.port === undefined || headers.port === named.port)
  );
}
