import { isIPv4, type Socket } from "node:net";

/**
 * The address of the other side, in the spelling of Pods; empty if the socket is closed. An IPv4 address on a dual-stack socket
 * is unwrapped. No other embedding is: 6to4 and NAT64 are routes through other hosts, so their addresses are not the same peer.
 */
export function peerAddress({ remoteAddress = "" }: Pick<Socket, "remoteAddress">): string {
  const plain = remoteAddress.replace(/^::ffff:/i, "");
  return isIPv4(plain) ? plain : remoteAddress.toLowerCase();
}
