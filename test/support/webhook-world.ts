import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import {
  type CustomResourceDefinition,
  customResourceDefinitionType,
  type Secret,
  secretType,
} from "../../api/core.ts";
import { certificateSecretName } from "../../controller/webhook/managed-certificates.ts";
import type { KubeClient } from "../../kube/client.ts";
import { servedKinds } from "../../kube/memory/kinds/served-kinds.ts";
import { openMemoryApi } from "./memory-api.ts";

export const webhookService = { name: "agent-sandbox-webhook-service", namespace: "agent-sandbox-system" };
export const webhookHost = `${webhookService.name}.${webhookService.namespace}.svc`;
export const sandboxDefinitionName = "sandboxes.agents.x-k8s.io";
export const poolDefinitionName = "sandboxwarmpools.extensions.agents.x-k8s.io";

/** An API server in memory whose definitions can be written, as those of a cluster can. */
export const openWebhookApi = () =>
  openMemoryApi({
    kinds: servedKinds().map((kind) =>
      kind.type.kind === customResourceDefinitionType.kind ? { ...kind, readOnly: false } : kind,
    ),
  });

export const certificateSecretOf = (client: KubeClient) =>
  client.get(secretType, { namespace: webhookService.namespace, name: certificateSecretName });

export const secretText = (secret: Secret, key: string): string =>
  Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");

/** What a definition says about its conversion. */
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

export interface WebhookCall {
  readonly port: number;
  /** PEM of whom the caller trusts. */
  readonly ca: string;
  readonly path?: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly host?: string;
}

export interface WebhookReply {
  readonly code: number;
  readonly text: string;
  /** Serial number of the certificate that was shown. */
  readonly serialNumber: string;
}

/** Calls a webhook as an API server does: over HTTPS under its Service's name, each time on a new connection. */
export function callWebhook(call: WebhookCall): Promise<WebhookReply> {
  const { port, ca, path = "/convert", method = "POST", body, host = webhookHost } = call;
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method, ca, servername: host, agent: false };
    const sent = request(options, async (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      let text = "";
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
