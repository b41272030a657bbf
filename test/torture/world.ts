import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Ledger } from "./ledger.ts";
import { reset, watchLateness } from "./link.ts";
import type { StallWatch } from "./stall/stall-watch.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What clients need: addresses, and the plans. */
export interface World {
  readonly ledger: Ledger;
  readonly http: Address;
  readonly https: Address;
  /** The CA of the HTTPS port. */
  readonly authority: string;
  /** An activator port of a sandbox's Service; undefined if it has none at the moment. */
  tcp(sandbox: string): Address | undefined;
  readonly progress: StallWatch;
}

export interface Connection {
  readonly socket: Socket;
  /** Resets the connection, with or without TLS. */
  readonly cut: () => void;
  /** Whether the activator may have closed it before the client could speak. */
  readonly isLate: () => boolean;
}

export function dialPlain(address: Address): Connection {
  const socket = connect({ ...address, allowHalfOpen: true, noDelay: true }).on("error", () => {});
  return { socket, cut: () => reset(socket), isLate: watchLateness(socket, "connect") };
}

/** TLS runs on a separate socket, which can be reset. `protocols`: those that the client offers by ALPN. */
export function dialTls({ https, authority }: World, protocols: readonly string[] = []): Connection {
  const raw = connect({ ...https, allowHalfOpen: true, noDelay: true }).on("error", () => {});
  const ALPNProtocols = [...protocols];
  const socket = connectTls({ socket: raw, ca: authority, servername: "torture.test", ALPNProtocols });
  const cut = () => {
    reset(raw);
    socket.destroy();
  };
  return { socket: socket.on("error", () => {}), cut, isLate: watchLateness(socket, "secureConnect") };
}

/** A connection for HTTP/2: by ALPN over TLS, or by the preface in clear text. */
export const dialHttp2 = (tls: boolean, world: World): Connection =>
  tls ? dialTls(world, ["h2"]) : dialPlain(world.http);
