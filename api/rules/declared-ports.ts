import { isPort } from "../../lib/net/is-port.ts";
import type { Container, ContainerPort } from "../kinds/core.ts";

/** The port of a sandbox whose Pod declares no TCP port; the ecosystem's clients rely on it. */
export const fallbackPort = 8888;

type DeclaringContainer = Partial<Pick<Container, "name" | "ports" | "restartPolicy">>;

interface Declaring {
  readonly containers: readonly DeclaringContainer[];
  readonly initContainers?: readonly DeclaringContainer[];
}

/**
 * The ports that a Pod declares, in order: its containers first, then its sidecars (init containers with
 * `restartPolicy: Always`). An absent or empty protocol means TCP, as in Kubernetes. A number outside of the port
 * range, such as 0 or 70000, is ignored: the schema accepts any int32.
 */
export function declaredPorts({ containers, initContainers = [] }: Declaring): readonly DeclaredPort[] {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  return [...containers, ...sidecars]
    .flatMap(({ ports = [] }): readonly ContainerPort[] => ports)
    .filter(({ containerPort }) => isPort(containerPort))
    .map(({ containerPort, protocol, name }) => ({
      port: containerPort,
      protocol: protocol || "TCP",
      name: name || "",
    }));
}

export interface DeclaredPort {
  readonly port: number;
  readonly protocol: string;
  /** Empty if the port has no name. */
  readonly name: string;
}

/** By Pod spec; each version of an object has another one. Requests ask again and again, and a Pod may declare thousands of ports. */
const defaultPorts = new WeakMap<Declaring, number>();

/** The TCP ports that a Pod declares, each once, in order; the fallback port if it declares none. */
export function tcpPorts(spec: Declaring): readonly number[] {
  const declared = new Set(declaredPorts(spec).flatMap(({ port, protocol }) => (protocol === "TCP" ? port : [])));
  return declared.size > 0 ? [...declared] : [fallbackPort];
}

/** The port for clients that name none: the first TCP port that the Pod declares. */
export function defaultPort(spec: Declaring): number {
  const known = defaultPorts.get(spec);
  if (known !== undefined) return known;
  const port = tcpPorts(spec)[0] ?? fallbackPort;
  defaultPorts.set(spec, port);
  return port;
}
