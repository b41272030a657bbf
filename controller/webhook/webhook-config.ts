import type { CertificateFiles } from "../../lib/certificates/certificate-files.ts";
import type { WebhookService } from "./make-certificates.ts";

/** What the webhook is asked to do. */
export interface WebhookConfig {
  readonly port: number;
  readonly service: WebhookService;
  /** Undefined: its certificates are made, kept in a Secret and renewed here. */
  readonly certificateFiles: CertificateFiles | undefined;
  /** For how long it still responds at shutdown: until all clients of its Service have learned of it; absent: not at all. */
  readonly lingerMs?: number;
}
