import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Ledger } from "./ledger.ts";
import { reset } from "./link.ts";
import type { StillStand } from "./still-stand.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What clients have of the world: addresses, and what is planned. */
export interface World {
  readonly ledger: Ledger;
  readonly http: Address;
  readonly https: Address;
  /** Signs what is shown there. */
  readonly authority: string;
  /** Where the name of a sandbox's Service leads to; undefined: nowhere, for the moment. */
  tcp(sandbox: string): Address | undefined;
  readonly progress: StillStand;
}

export interface Connection {
  readonly socket: Socket;
  /** Ends it by a reset, encrypted or not. */
  readonly cut: () => void;
}

export function dialPlain(address: Address): Connection {
  const socket = connect({ ...address, allowHalfOpen: true, noDelay: true }).on("error", () => {});
  return { socket, cut: () => reset(socket) };
}

/** The encrypted one lies on a socket of its own, which can be reset. */
export function dialTls({ https, authority }: World): Connection {
  const raw = connect({ ...https, allowHalfOpen: true, noDelay: true }).on("error", () => {});
  const socket = connectTls({ socket: raw, ca: authority, servername: "torture.test" });
  const cut = () => {
    reset(raw);
    socket.destroy();
  };
  return { socket: socket.on("error", () => {}), cut };
}
