import { Subscribers } from "../data/subscribers.ts";
import type { Running } from "../process/lifecycle.ts";
import type { CertificatePair } from "./certificates.ts";

/** A server's certificate, and the CA of its clients; all PEM. */
export interface ServerCertificate extends CertificatePair {
  /** The CA of clients' certificates; absent: none is requested. */
  readonly clientAuthority?: string;
}

/** The source of a server's certificate, which reports changes. */
export interface CertificateSource extends Running {
  /** The current certificate. */
  readonly current: () => ServerCertificate;
  /** Calls back with each new certificate. */
  readonly onChange: (listener: (certificate: ServerCertificate) => void) => Disposable;
}

/** The part of a source that a server uses. */
export type ShownCertificates = Pick<CertificateSource, "current" | "onChange">;

/** The current certificate of a source, and its listeners. */
export class CurrentCertificate implements ShownCertificates {
  readonly #listeners = new Subscribers<ServerCertificate>();
  #shown: ServerCertificate;

  constructor(shown: ServerCertificate) {
    this.#shown = shown;
  }

  readonly current = (): ServerCertificate => this.#shown;

  /** Returns whether the certificate changed. */
  set(next: ServerCertificate): boolean {
    const { certificate, key, clientAuthority } = this.#shown;
    if (next.certificate === certificate && next.key === key && next.clientAuthority === clientAuthority) return false;
    this.#shown = next;
    this.#listeners.notify(next);
    return true;
  }

  readonly onChange = (listener: (certificate: ServerCertificate) => void): Disposable => this.#listeners.add(listener);
}

interface ShowingServer {
  setSecureContext(options: Secrets): void;
}

interface Secrets {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

/** The current certificate in the form of Node's TLS servers. */
export function secretsOf({ current }: Pick<ShownCertificates, "current">): Secrets {
  const { certificate, key, clientAuthority } = current();
  return { cert: certificate, key, ...(clientAuthority !== undefined && { ca: clientAuthority }) };
}

/** Uses each new certificate, and its CA, for new connections. */
export function keepShowing<T extends object>(
  server: ShowingServer,
  certificates: ShownCertificates,
  /** The server's other TLS settings: a new context does not keep them. */
  settings?: T,
): Disposable {
  return certificates.onChange(() => server.setSecureContext({ ...settings, ...secretsOf(certificates) }));
}
