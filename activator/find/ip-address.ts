import { BlockList, isIP } from "node:net";
import { LRUCache } from "lru-cache";
import { ownText } from "../../lib/data/own-text.ts";

const undiallable = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8], // "this network"; Linux dials itself
  ["169.254.0.0", 16], // link-local, where clouds keep credentials
  ["224.0.0.0", 4], // multicast
  ["255.255.255.255", 32],
] as const) {
  undiallable.addSubnet(network, prefix, "ipv4");
}
undiallable.addAddress("::", "ipv6");
undiallable.addSubnet("fe80::", 10, "ipv6");
undiallable.addSubnet("ff00::", 8, "ipv6");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * The canonical spelling of an address: IPv6 compressed in lower case, and an IPv4 address in IPv6 (mapped, compatible, NAT64,
 * 6to4) unwrapped, because its class decides. Undefined for all but plain literals; zones are rejected.
 */
export function canonicalIp(text: string): string | undefined {
  if (text.includes("%")) return undefined;
  const family = isIP(text);
  if (family === 0) return undefined;
  if (family === 4) return text;
  const groups = groupsOf(text);
  return embeddedIpv4(groups) ?? new URL(`http://[${text}]`).hostname.slice(1, -1);
}

type AddressClass = "pod" | "loopback" | "undiallable";

/** Recently checked addresses: every request checks one, and few are in use at once. */
const classes = new LRUCache<string, AddressClass>({ max: 4_096 });

/** Whether an address in canonical form may be a Pod's: unicast; loopback only if allowed. */
export function isDiallable(ip: string, allowLoopback: boolean): boolean {
  let known = classes.get(ip);
  if (known === undefined) {
    known = classOf(ip);
    classes.set(ownText(ip), known);
  }
  return known === "pod" || (known === "loopback" && allowLoopback);
}

function classOf(ip: string): AddressClass {
  const family = isIP(ip) === 6 ? "ipv6" : "ipv4";
  if (undiallable.check(ip, family)) return "undiallable";
  return loopback.check(ip, family) ? "loopback" : "pod";
}

function groupsOf(ipv6: string): readonly number[] {
  const host = new URL(`http://[${ipv6}]`).hostname.slice(1, -1); // also turns a dotted tail into groups
  const [left = "", right] = host.split("::");
  const parse = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const [head, tail] = [parse(left), parse(right ?? "")];
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

function embeddedIpv4(groups: readonly number[]): string | undefined {
  const [a, b, c, d, e, f, g = 0, h = 0] = groups;
  const zeros = a === 0 && b === 0 && c === 0 && d === 0 && e === 0;
  const mapped = zeros && f === 0xffff;
  const compatible = zeros && f === 0 && (g !== 0 || h > 1); // :: and ::1 are addresses of their own
  const nat64 = a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0;
  if (mapped || compatible || nat64) return dotted(g, h);
  return a === 0x2002 ? dotted(b ?? 0, c ?? 0) : undefined;
}

const dotted = (high: number, low: number) => [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
