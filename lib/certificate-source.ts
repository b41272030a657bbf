import type { CertificatePair } from "./certificates.ts";
import type { Running } from "./lifecycle.ts";
import { Subscribers } from "./subscribers.ts";

/** Where the certificate that a server shows comes from, and how the server hears of the next one. */
export interface CertificateSource extends Running {
  /** The one to show now. */
  readonly current: () => CertificatePair;
  /** Calls back with each new one. */
  readonly onChange: (listener: (pair: CertificatePair) => void) => Disposable;
}

/** What a server needs of its source. */
export type ShownCertificates = Pick<CertificateSource, "current" | "onChange">;

/** What a source keeps: one certificate, and who wants to hear of the next. */
export class CurrentCertificate implements ShownCertificates {
  readonly #listeners = new Subscribers<CertificatePair>();
  #pair: CertificatePair;

  constructor(pair: CertificatePair) {
    this.#pair = pair;
  }

  readonly current = (): CertificatePair => this.#pair;

  /** Returns whether it is another one than before. */
  set(pair: CertificatePair): boolean {
    if (pair.certificate === this.#pair.certificate && pair.key === this.#pair.key) return false;
    this.#pair = pair;
    this.#listeners.tell(pair);
    return true;
  }

  readonly onChange = (listener: (pair: CertificatePair) => void): Disposable => this.#listeners.add(listener);
}

interface ShowingServer {
  setSecureContext(options: { readonly cert: string; readonly key: string }): void;
}

/** The certificate of now as a TLS server of Node takes it. */
export function secretsOf({ current }: ShownCertificates): { readonly cert: string; readonly key: string } {
  const { certificate, key } = current();
  return { cert: certificate, key };
}

/** Shows each new certificate to those who connect after it has come. */
export function keepShowing<T extends object>(
  server: ShowingServer,
  certificates: ShownCertificates,
  /** What else the server was made with: a new context begins without it. */
  settings?: T,
): Disposable {
  return certificates.onChange(() => server.setSecureContext({ ...settings, ...secretsOf(certificates) }));
}
