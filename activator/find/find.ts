import type { Sandbox } from "../../api/sandbox.ts";
import { ActivatorError } from "../errors.ts";
import type { RequestHead } from "../request.ts";
import { type Domains, readHost } from "./host-name.ts";
import { type RoutingHeaders, readRoutingHeaders, readTimeoutMs } from "./routing-headers.ts";

/** Which sandbox a request is for, and how it said so. */
export interface Routed {
  readonly namespace: string;
  /** A checked label, so that it may be shown. */
  readonly name: string;
  /** Undefined: the sandbox's first declared port; it was not known when the request was read. */
  readonly port: number | undefined;
  /** The name was the host's. Such requests keep what belongs to that origin: Host, Origin, Authorization. */
  readonly byHost: boolean;
  readonly podIp: string | undefined;
  /** How long the client listens, in milliseconds from the request's head. */
  readonly timeoutMs: number | undefined;
}

export interface FindOptions extends Domains {
  readonly allowLoopbackPodIp: boolean;
}

/** Where names are looked up. */
export interface Lookup {
  /** The sandbox of this name. */
  sandbox(namespace: string, name: string): Sandbox | undefined;
  /** The sandbox that the claim of this name has. */
  claimed(namespace: string, name: string): Sandbox | undefined;
}

const defaultNamespace = "default";
/** Port of a sandbox that declares none, and of requests that name a sandbox by headers alone. */
export const defaultPort = 8888;

/**
 * Finds out which sandbox a request names; whether there is one is seen later, after authorization.
 *
 * @throws ActivatorError for a host that names nothing, malformed headers, or headers against the host.
 */
export function find(head: RequestHead, options: FindOptions, lookup: Lookup): Routed {
  const meaning = namedSandbox(head, options, lookup);
  const headers = readRoutingHeaders(head.headers, options.allowLoopbackPodIp);
  const timeoutMs = readTimeoutMs(head.headers);
  if (meaning === undefined) {
    if (headers.id === undefined) throw new ActivatorError("MissingSandboxId");
    const { id: name, namespace = defaultNamespace, port = defaultPort, podIp } = headers;
    return { name, namespace, port, byHost: false, podIp, timeoutMs };
  }
  const { name, namespace, port } = meaning;
  // A page of one sandbox may set any header on requests to its own origin; it must not reach another by that.
  if (!agrees(headers, meaning)) throw new ActivatorError("ConflictingHeaders");
  return { name, namespace, port, byHost: true, podIp: headers.podIp, timeoutMs };
}

/** Whether the host of a request names a sandbox, so that every path on it, `/healthz` too, is the sandbox's. */
export function hostNamesSandbox(head: RequestHead, options: Domains, lookup: Lookup): boolean {
  const meaning = readHost(head.host, options);
  if (meaning.is === "service") return lookup.sandbox(meaning.namespace, meaning.name) !== undefined;
  return meaning.is === "sandbox" || meaning.is === "unknown";
}

interface NamedByHost {
  /** As the host spells it: the name of the sandbox, or of a claim that has it. */
  readonly label: string;
  readonly name: string;
  readonly namespace: string;
  readonly port: number | undefined;
}

function namedSandbox(head: RequestHead, options: FindOptions, lookup: Lookup): NamedByHost | undefined {
  const meaning = readHost(head.host, options);
  switch (meaning.is) {
    case "malformed":
      throw new ActivatorError("MalformedRequest", { because: "the Host header is no host name" });
    case "unknown":
      throw new ActivatorError("UnknownHost");
    case "other":
      return undefined;
    case "sandbox": {
      // A sandbox's own name wins: nobody takes another's host by a claim of its name.
      const { namespace, name } = meaning;
      return named(meaning, lookup.sandbox(namespace, name) ?? lookup.claimed(namespace, name));
    }
    case "service": {
      // Clients in the cluster reach the activator itself by a Service name, and say by headers whom they mean.
      const sandbox = lookup.sandbox(meaning.namespace, meaning.name);
      return sandbox && named({ ...meaning, port: undefined }, sandbox);
    }
  }
}

function named(
  { name, namespace, port }: Pick<NamedByHost, "name" | "namespace" | "port">,
  sandbox: Sandbox | undefined,
): NamedByHost {
  return {
    label: name,
    name: sandbox?.metadata.name ?? name,
    namespace,
    port: port ?? (sandbox && firstPortOf(sandbox)),
  };
}

/** The port that is meant where none is named. */
export function firstPortOf(sandbox: Sandbox): number {
  for (const { ports = [] } of sandbox.spec.podTemplate.spec.containers) {
    for (const { protocol = "TCP", containerPort } of ports) if (protocol === "TCP") return containerPort;
  }
  return defaultPort;
}

function agrees(headers: RoutingHeaders, named: NamedByHost): boolean {
  return (
    (headers.id === undefined || headers.id === named.label || headers.id === named.name) &&
    (headers.namespace ?? named.namespace) === named.namespace &&
    (headers.port === undefined || named.port === undefined || headers.port === named.port)
  );
}
