import { X509Certificate } from "node:crypto";
import { Gauge, type Registry } from "prom-client";

/** The certificates in use, by purpose; each the current one, in PEM. */
export type ShownCertificatesByUse = Readonly<Record<string, (() => string) | undefined>>;

/** Exposes when certificates expire, so that a missing renewal is noticed long before anything breaks. */
export function registerCertificateEnds(registry: Registry, certificates: ShownCertificatesByUse): void {
  new Gauge({
    name: "rouse_certificate_expiry_timestamp_seconds",
    help: "Time at which the certificate in use (webhook or drain) expires, in seconds since 1970.",
    labelNames: ["certificate"],
    registers: [registry],
    collect() {
      for (const [certificate, current] of Object.entries(certificates)) {
        if (current) this.set({ certificate }, new X509Certificate(current()).validToDate.getTime() / 1_000);
      }
    },
  });
}
