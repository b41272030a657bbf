import type { PodSpec } from "./core.ts";

/** Where a sandbox is expected to listen when its Pod declares no port; the clients of the ecosystem count on it. */
export const fallbackPort = 8888;

/** The port meant by whoever names none: the first TCP port that a container declares. */
export function defaultPort({ containers }: Pick<PodSpec, "containers">): number {
  const ports = containers.flatMap((container) => container.ports ?? []);
  const first = ports.find(({ containerPort, protocol }) => containerPort > 0 && (protocol || "TCP") === "TCP");
  return first?.containerPort ?? fallbackPort;
}
