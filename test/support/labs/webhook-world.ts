import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import {
  type CustomResourceDefinition,
  customResourceDefinitionType,
  type Secret,
  secretType,
} from "../../../api/kinds/core.ts";
import { servedKinds } from "../../../apiserver/kinds/served-kinds.ts";
import type { MemoryApiOptions } from "../../../apiserver/start-memory-api-server.ts";
import { certificateSecretName } from "../../../controller/webhook/managed-certificates.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { certificatesIn } from "../../../lib/certificates/certificate-chain.ts";
import type { CertificateSource } from "../../../lib/certificates/certificate-source.ts";
import type { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../eventually.ts";
import { openMemoryApi } from "../memory-api.ts";

export const webhookService = { name: "agent-sandbox-webhook-service", namespace: "agent-sandbox-system" };
export const webhookHost = `${webhookService.name}.${webhookService.namespace}.svc`;
export const sandboxDefinitionName = "sandboxes.agents.x-k8s.io";
export const poolDefinitionName = "sandboxwarmpools.extensions.agents.x-k8s.io";

/** An API server in memory whose CRDs can be written, as in a cluster. */
export const openWebhookApi = (options: Partial<MemoryApiOptions> = {}) =>
  openMemoryApi({
    ...options,
    kinds: servedKinds().map((kind) =>
      kind.type.kind === customResourceDefinitionType.kind ? { ...kind, readOnly: false } : kind,
    ),
  });

export const certificateSecretOf = (client: KubeClient) =>
  client.get(secretType, { namespace: webhookService.namespace, name: certificateSecretName });

export const secretText = (secret: Secret, key: string): string =>
  Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");

/** The conversion section of a CRD. */
export async function conversionOf(client: KubeClient, name: string) {
  const { spec } = await client.get(customResourceDefinitionType, { name });
  return (spec as unknown as { readonly conversion: DefinitionConversion }).conversion;
}

interface DefinitionConversion {
  readonly strategy: string;
  readonly webhook?: {
    readonly clientConfig: { readonly caBundle?: string; readonly service: Readonly<Record<string, unknown>> };
    readonly conversionReviewVersions: readonly string[];
  };
}

export async function changeConversion(client: KubeClient, name: string, conversion: object): Promise<void> {
  const body = { spec: { conversion } } as unknown as Partial<CustomResourceDefinition>;
  await client.patch(customResourceDefinitionType, { name }, { type: "merge", body });
}

export const countOf = (pem: string): number => pem.split("BEGIN CERTIFICATE").length - 1;

/** The CAs of a CRD, as PEM. */
export const bundleOf = async (client: KubeClient, name = sandboxDefinitionName) =>
  Buffer.from((await conversionOf(client, name)).webhook?.clientConfig.caBundle ?? "", "base64").toString();

/** Whether API servers accept the certificate that is served. */
export async function trusts(client: KubeClient, { current }: CertificateSource, name?: string): Promise<boolean> {
  const shown = new X509Certificate(current().certificate);
  const authorities = certificatesIn(await bundleOf(client, name));
  return authorities.some((authority) => shown.verify(new X509Certificate(authority).publicKey));
}

/** Advances the clock step by step until the condition holds; returns the number of seconds. */
export async function secondsUntil(clock: FakeClock, reached: () => unknown, stepMs = 1_000): Promise<number> {
  const beganMs = clock.ticksMs();
  await eventually(async () => {
    if (await reached()) return true;
    await clock.advance(stepMs);
    return false;
  });
  return (clock.ticksMs() - beganMs) / 1_000;
}

export interface WebhookCall {
  readonly port: number;
  /** The CAs that the caller trusts, as PEM. */
  readonly ca: string;
  readonly path?: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly host?: string;
  /** The address that the caller has. */
  readonly localAddress?: string;
}

export interface WebhookReply {
  readonly code: number;
  readonly text: string;
  /** The serial number of the served certificate. */
  readonly serialNumber: string;
}

/** Calls a webhook as an API server does: over HTTPS under its Service's name, each time on a new connection. */
export function callWebhook(call: WebhookCall): Promise<WebhookReply> {
  const { port, ca, path = "/convert", method = "POST", body, host = webhookHost } = call;
  return new Promise((resolve, reject) => {
    const { localAddress } = call;
    const from = localAddress === undefined ? {} : { localAddress };
    const options = { host: "127.0.0.1", port, path, method, ca, servername: host, agent: false, ...from };
    const sent = request(options, async (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      let text = "";
      response.setEncoding("utf8");
      for await (const chunk of response) text += chunk;
      resolve({ code: response.statusCode ?? 0, text, serialNumber });
    });
    sent.on("error", reject);
    sent.end(typeof body === "string" ? body : body && JSON.stringify(body));
  });
}

export const reviewOf = (objects: readonly unknown[], desiredAPIVersion: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "ConversionReview",
  request: { uid: "uid-of-review", desiredAPIVersion, objects },
});
