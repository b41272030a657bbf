import { X509Certificate } from "node:crypto";
import { certificatesIn } from "../../lib/certificates/certificate-chain.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { livingAuthorities, settleMs } from "./rotation.ts";

/** So many are kept in a bundle: a Secret that is made over and over must not make a definition grow. */
const keptMax = 8;
const rememberedMax = 64;

/**
 * Authorities that a definition names and the Secret does not: the Secret was deleted or replaced, and a replica that has
 * not read the new one yet may still show a certificate of theirs. Each is trusted for another `settleMs`, counted by this
 * replica alone, and never put back where it is gone, so replicas that count differently do not undo each other's writes.
 */
export class FormerAuthorities {
  readonly #clock: Clock;
  /** By fingerprint: when this replica first met it, in monotonic milliseconds. */
  readonly #metMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those of `bundle` that stay trusted, as PEM in its order. Both are PEM. */
  keptOf(bundle: string, ofSecret: string): readonly string[] {
    const current = new Set(certificatesIn(ofSecret).map(fingerprintOf));
    const others = certificatesIn(bundle).filter((pem) => {
      const fingerprint = fingerprintOf(pem);
      return fingerprint !== undefined && !current.has(fingerprint);
    });
    return livingAuthorities(others, this.#clock.now())
      .filter((pem) => this.#ageMs(fingerprintOf(pem) ?? "") < settleMs)
      .slice(0, keptMax);
  }

  /** After how many milliseconds the next of them is no longer trusted; undefined: there is none. */
  get nextEndMs(): number | undefined {
    const nowMs = this.#clock.ticksMs();
    const left = [...this.#metMs.values()].map((metMs) => metMs + settleMs - nowMs).filter((leftMs) => leftMs > 0);
    return left.length > 0 ? Math.min(...left) : undefined;
  }

  #ageMs(fingerprint: string): number {
    const nowMs = this.#clock.ticksMs();
    const metMs = this.#metMs.get(fingerprint);
    if (metMs !== undefined) return nowMs - metMs;
    this.#metMs.set(fingerprint, nowMs);
    const [oldest] = this.#metMs.keys();
    if (this.#metMs.size > rememberedMax && oldest !== undefined) this.#metMs.delete(oldest);
    return 0;
  }
}

/** Undefined for a text that is not a certificate. */
function fingerprintOf(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    return undefined;
  }
}
