import { type BindAddress, parseBindAddress } from "../../lib/net/bind-address.ts";

/**
 * Reads where the by-name listener is; undefined: disabled.
 *
 * @throws Error for a malformed address, or without a domain: then no name leads to a sandbox.
 */
export function byNameAddress(values: {
  readonly "by-name-bind-address": string;
  readonly domain: string;
}): BindAddress | undefined {
  const address = parseBindAddress(values["by-name-bind-address"]);
  if (address && values.domain === "") throw new Error("--by-name-bind-address needs --domain");
  return address;
}
