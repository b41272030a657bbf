import { isIP } from "node:net";

export interface TcpFrontConfig {
  /** Where the ports of sandboxes are opened; absent: every address. */
  readonly host: string | undefined;
  /** Under which slices list this replica; absent: it cannot tell when they no longer do. */
  readonly podIp: string | undefined;
}

interface Values {
  readonly "tcp-front": string;
  readonly "tcp-front-bind-address": string;
}

/** Modes of `--tcp-front`; empty: on where the controller can ask, for without that no slice lists this replica. */
export const tcpFrontModes = ["", "on", "off"] as const;

/**
 * How ports of sandboxes are opened; undefined: they are not.
 *
 * @throws Error when an address is none, or nobody could ask for a confirmation.
 */
export function tcpFrontConfig(
  values: Values,
  podIp: string | undefined,
  hasDrain: boolean,
): TcpFrontConfig | undefined {
  const mode = values["tcp-front"];
  if (mode === "off" || (mode === "" && !hasDrain)) return undefined;
  if (!hasDrain) throw new Error("--tcp-front=on needs --drain-bind-address: the controller asks there who listens");
  const host = values["tcp-front-bind-address"] || undefined;
  if (host !== undefined && isIP(host) === 0) throw new Error(`--tcp-front-bind-address: "${host}" is no address`);
  if (podIp && isIP(podIp) === 0) throw new Error(`POD_IP: "${podIp}" is no address`);
  return { host, podIp: podIp || undefined };
}
