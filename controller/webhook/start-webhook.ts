import type { Registry } from "prom-client";
import type { KubeClient } from "../../kube/client/client.ts";
import { startCertificateFiles } from "../../lib/certificates/certificate-files.ts";
import type { CertificateSource } from "../../lib/certificates/certificate-source.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { startConvertServer } from "./convert-server.ts";
import { startManagedCertificates } from "./managed-certificates.ts";
import type { PeerShares } from "./peer-shares.ts";
import type { WebhookConfig } from "./webhook-config.ts";

export interface WebhookParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly clusterDomain: string;
  readonly registry?: Registry;
  /** Which peers are Pods; absent: none are. */
  readonly shares?: PeerShares;
  /** Ends the start while the API server is away. */
  readonly stop?: AbortSignal | undefined;
}

export interface RunningWebhook extends Running {
  /** Where it really listens. */
  readonly port: number;
  /** That it shows now; PEM. */
  readonly certificate: () => string;
}

/**
 * Starts to convert between `v1alpha1` and `v1beta1` for the API server, in every replica, whether it leads or not. With
 * managed certificates the API server knows whom to trust before the webhook listens.
 *
 * @throws UnusableSecret or NoCertificateFiles if there is no usable certificate, Error if the port cannot be used, or
 *   what `KubeClient` throws.
 */
export async function startWebhook(config: WebhookConfig, parts: WebhookParts): Promise<RunningWebhook> {
  const log = parts.log.child({ logger: "webhook" });
  await using stack = new AsyncDisposableStack();
  const certificates = stack.use(await startCertificates(config, { ...parts, log }));
  const server = stack.use(await startConvertServer({ ...config, ...parts, certificates, log }));
  const { failed } = certificates;
  const started = stack.move();
  const certificate = () => certificates.current().certificate;
  return { failed, port: server.port, certificate, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

function startCertificates(
  { certificateFiles, service }: WebhookConfig,
  parts: WebhookParts,
): Promise<CertificateSource> {
  return certificateFiles
    ? startCertificateFiles(certificateFiles, { ...parts, server: "the webhook" })
    : startManagedCertificates({ ...parts, service });
}
