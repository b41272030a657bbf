import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Networks by their addresses. */
export interface Networks {
  /** `address`: by `peerAddress`. */
  has(address: string): boolean;
}

/**
 * Reads a list of networks such as `10.0.0.0/8,fd00::/8,192.0.2.7`; undefined if it is empty.
 *
 * @throws Error for a part that is no network.
 */
export function parseNetworks(list: string): Networks | undefined {
  const parts = list.split(",").flatMap((part) => part.trim() || []);
  if (parts.length === 0) return undefined;
  const inside = new BlockList();
  for (const part of parts) addNetwork(inside, part);
  return {
    has(address) {
      const [plain = ""] = address.split("%", 1); // the name of an interface, as with link-local addresses
      if (isIPv4(plain)) return inside.check(plain, "ipv4");
      return isIPv6(plain) && inside.check(plain, "ipv6");
    },
  };
}

function addNetwork(inside: BlockList, text: string): void {
  const [address = "", bits, ...more] = text.split("/");
  const family = isIPv4(address) ? "ipv4" : isIPv6(address) && !address.includes("%") ? "ipv6" : undefined;
  const bitsMax = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? bitsMax : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (family === undefined || more.length > 0 || !(prefix <= bitsMax)) {
    throw new Error(`"${text}" is not a network like 10.0.0.0/8, fd00::/8 or 192.0.2.7`);
  }
  inside.addSubnet(address, prefix, family);
}
