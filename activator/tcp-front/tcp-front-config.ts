import { isIP } from "node:net";

export interface TcpFrontConfig {
  /** The address of the ports of sandboxes; absent: all addresses. */
  readonly host: string | undefined;
  /** The name of this replica in slices; absent: it does not know when slices have ceased to list it. */
  readonly podIp: string | undefined;
}

interface Values {
  readonly "tcp-front": string;
  readonly "tcp-front-bind-address": string;
}

/** Modes of `--tcp-front`; empty: on if the drain listener is enabled, because without it no slice lists this replica. */
export const tcpFrontModes = ["", "on", "off"] as const;

/**
 * Reads how ports of sandboxes are opened; undefined: disabled.
 *
 * @throws Error for a malformed address, or without the drain listener.
 */
export function tcpFrontConfig(
  values: Values,
  podIp: string | undefined,
  hasDrain: boolean,
): TcpFrontConfig | undefined {
  const mode = values["tcp-front"];
  if (mode === "off" || (mode === "" && !hasDrain)) return undefined;
  if (!hasDrain)
    throw new Error(
      "--tcp-front=on needs --drain-bind-address: the controller asks the drain listener which ports are open",
    );
  const host = values["tcp-front-bind-address"] || undefined;
  if (host !== undefined && isIP(host) === 0) throw new Error(`--tcp-front-bind-address: "${host}" is no address`);
  if (podIp && isIP(podIp) === 0) throw new Error(`POD_IP: "${podIp}" is no address`);
  return { host, podIp: podIp || undefined };
}
