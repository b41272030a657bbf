import type { Socket } from "node:net";
import { peerAddress } from "./peer-address.ts";
import type { Introduction } from "./proxy-protocol/awaited-header.ts";

/** Where the requests of a connection come from. */
export interface ClientOrigin {
  /** The address of the TCP peer. Who is let in, and all limits, go by it. */
  readonly peer: string;
  /** The address of the client for logs and the sandbox, by the PROXY header of the connection; else `peer`. */
  readonly clientIp: string;
  readonly scheme: "http" | "https";
  /** The length of the PROXY header; 0: there was none. */
  readonly headerBytes: number;
}

/** `introduction`: what the PROXY header of the connection said. */
export function originOf(socket: Pick<Socket, "remoteAddress">, introduction?: Introduction): ClientOrigin {
  const peer = peerAddress(socket);
  return {
    ...{ peer, clientIp: introduction?.clientIp ?? peer, headerBytes: introduction?.headerBytes ?? 0 },
    scheme: "encrypted" in socket ? "https" : "http",
  };
}
