import { type CustomResourceDefinition, customResourceDefinitionType } from "../../api/core.ts";
import { customResourceDefinitions } from "../../api/crd/definitions.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { WebhookService } from "./make-certificates.ts";

/** The part of a definition that says how its versions are converted. */
interface Conversion {
  readonly strategy?: string;
  readonly webhook?: {
    readonly clientConfig?: {
      readonly caBundle?: string;
      readonly service?: { readonly name?: string; readonly namespace?: string; readonly path?: string };
    };
    readonly conversionReviewVersions?: readonly string[];
  };
}

export interface Trust {
  readonly service: WebhookService;
  /** Every authority that may vouch for the webhook: PEM in base64, as Secrets and definitions hold it. */
  readonly caBundle: string;
}

export const conversionPath = "/convert";
const reviewVersions = ["v1", "v1beta1"];

/**
 * Tells the API server, in each of the four definitions, where the webhook is and whom to trust about it. Definitions
 * that are not installed, or do not ask a webhook, are left alone.
 *
 * @throws what `KubeClient` throws.
 */
export async function trustAuthorities(client: KubeClient, trust: Trust, signal?: AbortSignal): Promise<void> {
  for (const { metadata } of customResourceDefinitions()) {
    try {
      const definition = await client.get(customResourceDefinitionType, { name: metadata.name }, signal);
      const body = conversionPatch(definition, trust);
      if (body) {
        await client.patch(customResourceDefinitionType, { name: metadata.name }, { type: "merge", body }, {}, signal);
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** The merge patch that a definition needs; undefined when it needs none. A port that was given stays. */
export function conversionPatch(
  definition: CustomResourceDefinition,
  { service, caBundle }: Trust,
): object | undefined {
  const { strategy, webhook = {} } =
    (definition.spec as { readonly conversion?: Conversion } | undefined)?.conversion ?? {};
  if (strategy !== "Webhook") return undefined;
  const { service: current, caBundle: currentBundle } = webhook.clientConfig ?? {};
  const wanted = { name: service.name, namespace: service.namespace, path: conversionPath };
  const hasVersions = (webhook.conversionReviewVersions ?? []).length > 0;
  const isPlaced =
    current?.name === wanted.name && current.namespace === wanted.namespace && current.path === wanted.path;
  if (isPlaced && currentBundle === caBundle && hasVersions) return undefined;
  return {
    spec: {
      conversion: {
        webhook: {
          clientConfig: { service: wanted, caBundle },
          ...(!hasVersions && { conversionReviewVersions: reviewVersions }),
        },
      },
    },
  };
}
