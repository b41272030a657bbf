import type { Service } from "../../../api/kinds/core.ts";

/**
 * The variables of a kubelet for the Services of a namespace that have an address: `REDIS_SERVICE_HOST`,
 * `REDIS_SERVICE_PORT`, `REDIS_SERVICE_PORT_SQL` for a port named sql, and those of Docker's container links:
 * `REDIS_PORT`, `REDIS_PORT_6379_TCP`, with `_PROTO`, `_PORT` and `_ADDR`.
 */
export function serviceVariables(services: readonly Service[]): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const { metadata, spec } of services) {
    const { clusterIP, ports = [] } = spec ?? {};
    if (!clusterIP || clusterIP === "None") continue;
    const prefix = variableName(metadata.name ?? "");
    variables[`${prefix}_SERVICE_HOST`] = clusterIP;
    ports.forEach(({ name, port, protocol = "TCP" }, index) => {
      const url = `${protocol.toLowerCase()}://${clusterIP}:${port}`;
      // The first port is the one in the variables without a port's name.
      if (index === 0) {
        variables[`${prefix}_SERVICE_PORT`] = String(port);
        variables[`${prefix}_PORT`] = url;
      }
      if (name) variables[`${prefix}_SERVICE_PORT_${variableName(name)}`] = String(port);
      const link = `${prefix}_PORT_${port}_${protocol}`;
      variables[link] = url;
      variables[`${link}_PROTO`] = protocol.toLowerCase();
      variables[`${link}_PORT`] = String(port);
      variables[`${link}_ADDR`] = clusterIP;
    });
  }
  return variables;
}

const variableName = (name: string): string => name.toUpperCase().replaceAll("-", "_");
