import type { Service } from "../../api/core.ts";

/**
 * The variables by which a kubelet tells containers of the Services of their namespace, for those that have an address:
 * `REDIS_SERVICE_HOST`, `REDIS_SERVICE_PORT`, `REDIS_SERVICE_PORT_SQL` for a port named sql, and those that Docker made
 * for linked containers: `REDIS_PORT`, `REDIS_PORT_6379_TCP`, with `_PROTO`, `_PORT` and `_ADDR`.
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
      // The first port stands for the Service where its name is not asked for.
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
