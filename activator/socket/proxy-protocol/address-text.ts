import { isIPv4, SocketAddress } from "node:net";
import { peerAddress } from "../peer-address.ts";

/** The text of an address in the spelling of peers, so that one client has one address. `address`: a valid one. */
export function addressText(address: string): string {
  if (isIPv4(address)) return address;
  return peerAddress({ remoteAddress: new SocketAddress({ address, family: "ipv6" }).address });
}
