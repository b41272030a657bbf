/** The address of a listener. Without a host: every address. */
export interface BindAddress {
  readonly host: string | undefined;
  /** 0 means any free port. */
  readonly port: number;
}

/**
 * Parses `:8080`, `127.0.0.1:0` or `[::1]:8080`. `0` and an empty text disable the server.
 *
 * @throws Error for any other text.
 */
export function parseBindAddress(text: string): BindAddress | undefined {
  if (text === "0" || text === "") return undefined;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) throw new Error(`"${text}" is not an address like :8080, 127.0.0.1:8080 or 0`);
  return { host: match[1] || match[2] || undefined, port };
}
