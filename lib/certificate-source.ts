import type { CertificatePair } from "./certificates.ts";
import type { Running } from "./lifecycle.ts";
import { Subscribers } from "./subscribers.ts";

/** What a server shows, and by which authority it knows its clients; all PEM. */
export interface ServerCertificate extends CertificatePair {
  /** Signs the certificates of clients; absent: they are not asked for one. */
  readonly clientAuthority?: string;
}

/** Where the certificate that a server shows comes from, and how the server hears of the next one. */
export interface CertificateSource extends Running {
  /** The one to show now. */
  readonly current: () => ServerCertificate;
  /** Calls back with each new one. */
  readonly onChange: (listener: (certificate: ServerCertificate) => void) => Disposable;
}

/** What a server needs of its source. */
export type ShownCertificates = Pick<CertificateSource, "current" | "onChange">;

/** What a source keeps: one certificate, and who wants to hear of the next. */
export class CurrentCertificate implements ShownCertificates {
  readonly #listeners = new Subscribers<ServerCertificate>();
  #shown: ServerCertificate;

  constructor(shown: ServerCertificate) {
    this.#shown = shown;
  }

  readonly current = (): ServerCertificate => this.#shown;

  /** Returns whether it is another one than before. */
  set(next: ServerCertificate): boolean {
    const { certificate, key, clientAuthority } = this.#shown;
    if (next.certificate === certificate && next.key === key && next.clientAuthority === clientAuthority) return false;
    this.#shown = next;
    this.#listeners.tell(next);
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

/** The certificate of now as a TLS server of Node takes it. */
export function secretsOf({ current }: ShownCertificates): Secrets {
  const { certificate, key, clientAuthority } = current();
  return { cert: certificate, key, ...(clientAuthority !== undefined && { ca: clientAuthority }) };
}

/** Shows each new certificate to those who connect after it has come, and knows them by the authority that came with it. */
export function keepShowing<T extends object>(
  server: ShowingServer,
  certificates: ShownCertificates,
  /** What else the server was made with: a new context begins without it. */
  settings?: T,
): Disposable {
  return certificates.onChange(() => server.setSecureContext({ ...settings, ...secretsOf(certificates) }));
}
