import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from "node:tls";
import { keepShowing, type ShownCertificates, secretsOf } from "../../lib/certificates/certificate-source.ts";
import { guarded } from "../../lib/guard/guard.ts";
import { limitTlsOverhead } from "../../lib/net/tls-overhead.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { ClientCertificates } from "../config/https-config.ts";
import type { HeaderGate } from "../socket/proxy-protocol/header-gate.ts";
import { acceptedSocket } from "../socket/wire-socket.ts";

export interface FrontTls {
  /** With the client CA, unless `clients` is off. */
  readonly certificates: ShownCertificates;
  readonly clients: ClientCertificates;
}

export interface SecureServerOptions {
  readonly offersHttp2: boolean;
  /** The limit of a handshake, in milliseconds, which the caller enforces. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** A connection was cut because it brought too many bytes without data. */
  readonly onOverhead: () => void;
  /** The handshake has succeeded, and the client's certificate is as it must be. */
  readonly onSecured: (secured: TLSSocket) => void;
}

/** A server that ends TLS. It shows the latest certificate until it is closed. */
export function createSecureServer({ certificates, clients }: FrontTls, options: SecureServerOptions): TlsServer {
  const settings = {
    minVersion: "TLSv1.2",
    requestCert: clients !== "off",
    rejectUnauthorized: clients === "required",
  } as const;
  const tls = {
    ...settings,
    ...secretsOf(certificates),
    ALPNProtocols: options.offersHttp2 ? ["h2", "http/1.1"] : ["http/1.1"],
    // The caller enforces the limit. Node's own timer has a coarser clock and must not end the connection before.
    handshakeTimeout: options.limitMs + 1_000,
  };
  // Half-open only after the handshake: else a client that leaves during it would stay until its limit.
  const server = createTlsServer({ ...acceptedSocket, ...tls }, (secured) => {
    if (clients === "optional" && !secured.authorized && hasCertificate(secured)) return void secured.destroy();
    options.onSecured(secured);
  });
  // Node reports the error and leaves the connection open; its close is counted.
  server.on("tlsClientError", (_, secured) => secured.destroy());
  limitTlsOverhead(server, { clock: options.clock, onCut: options.onOverhead });
  const following = keepShowing(server, certificates, settings);
  return server.once("close", () => following[Symbol.dispose]());
}

/** Accepts connections for that server, and reads their PROXY headers, which come before TLS. */
export function behindGate(server: TlsServer, gate: HeaderGate, hasRoom: () => boolean): Server {
  const begin = (raw: Socket) => void server.emit("connection", raw);
  const accept = (raw: Socket) => {
    if (!gate.expects(raw)) begin(raw);
    else if (hasRoom()) gate.openRaw(raw, () => begin(raw));
    else raw.destroy();
  };
  const listener = createServer(
    acceptedSocket,
    guarded("http-front", accept, (raw) => raw.destroy()),
  );
  return listener.once("close", () => server.emit("close")); // it does not listen itself, so nothing else closes it
}

const hasCertificate = (socket: TLSSocket): boolean => Object.keys(socket.getPeerCertificate()).length > 0;
