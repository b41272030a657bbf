import type { CertificatePair } from "../../lib/certificates.ts";
import type { Running } from "../../lib/lifecycle.ts";

/** Where the certificate that the webhook shows comes from, and how the webhook hears of the next one. */
export interface CertificateSource extends Running {
  /** The one to show now. */
  readonly current: () => CertificatePair;
  /** Calls back with each new one. */
  readonly onChange: (listener: (pair: CertificatePair) => void) => Disposable;
}

/** What a source keeps: one certificate, and who wants to hear of the next. */
export class CurrentCertificate {
  readonly #listeners = new Set<(pair: CertificatePair) => void>();
  #pair: CertificatePair;

  constructor(pair: CertificatePair) {
    this.#pair = pair;
  }

  get(): CertificatePair {
    return this.#pair;
  }

  /** Returns whether it is another one than before. */
  set(pair: CertificatePair): boolean {
    if (pair.certificate === this.#pair.certificate && pair.key === this.#pair.key) return false;
    this.#pair = pair;
    for (const listener of this.#listeners) listener(pair);
    return true;
  }

  onChange(listener: (pair: CertificatePair) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
