import { customResourceDefinitions } from "../../api/crd/definitions.ts";
import { type CustomResourceDefinition, customResourceDefinitionType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { afterConflicts } from "../../kube/client/after-conflicts.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import type { FormerAuthorities } from "./former-authorities.ts";
import type { WebhookService } from "./make-certificates.ts";

/** The part of a definition that configures the conversion of its versions. */
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
  /** Every authority of the Secret: PEM in base64, as Secrets and definitions hold it. */
  readonly caBundle: string;
  /** What else is trusted for a while. */
  readonly former: Pick<FormerAuthorities, "keptOf">;
}

export const conversionPath = "/convert";
const reviewVersions = ["v1", "v1beta1"];

/**
 * Tells the API server, in each of the four definitions, where the webhook is and whom to trust about it. Definitions
 * that are not installed, or do not ask a webhook, are left alone.
 *
 * @throws what `KubeClient` throws, also the 409 of a definition that keeps changing.
 */
export async function trustAuthorities(client: KubeClient, trust: Trust, signal?: AbortSignal): Promise<void> {
  for (const { metadata } of customResourceDefinitions()) {
    try {
      await trustIn(client, metadata.name, trust, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** The patch follows from what was read, such as the authorities of another replica: it has the version of that. */
async function trustIn(client: KubeClient, name: string, trust: Trust, signal?: AbortSignal): Promise<void> {
  await afterConflicts(async () => {
    const definition = await client.get(customResourceDefinitionType, { name }, signal);
    const spec = conversionPatch(definition, trust);
    if (!spec) return;
    const { resourceVersion } = definition.metadata;
    const body = { metadata: { resourceVersion }, ...spec };
    await client.patch(customResourceDefinitionType, { name }, { type: "merge", body }, {}, signal);
  });
}

/** A definition without its schemas, its status and its annotations, which are most of it. */
export function conversionAlone(definition: Stored<CustomResourceDefinition>): Stored<CustomResourceDefinition> {
  const { name, uid, resourceVersion, creationTimestamp } = definition.metadata;
  const metadata = { name, uid, resourceVersion, creationTimestamp };
  return { metadata, ...(definition.spec && { spec: { ...definition.spec, versions: [] } }) };
}

/** The merge patch that a definition needs; undefined when it needs none. A port that was given stays. */
export function conversionPatch(definition: CustomResourceDefinition, trust: Trust): object | undefined {
  const { service } = trust;
  const { strategy, webhook = {} } =
    (definition.spec as { readonly conversion?: Conversion } | undefined)?.conversion ?? {};
  if (strategy !== "Webhook") return undefined;
  const { service: current, caBundle: currentBundle = "" } = webhook.clientConfig ?? {};
  const wanted = { name: service.name, namespace: service.namespace, path: conversionPath };
  const hasVersions = (webhook.conversionReviewVersions ?? []).length > 0;
  const isOurs = current?.name === wanted.name && current.namespace === wanted.namespace;
  const isPlaced = isOurs && current.path === wanted.path;
  const caBundle = isOurs ? withFormer(trust, currentBundle) : trust.caBundle;
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

/** The Secret's authorities, byte for byte, then those of the current bundle that stay trusted. */
function withFormer({ caBundle, former }: Trust, currentBundle: string): string {
  const ofSecret = textOf(caBundle);
  const kept = former.keptOf(textOf(currentBundle), ofSecret);
  if (kept.length === 0) return caBundle;
  return Buffer.from([ofSecret.trimEnd(), ...kept, ""].join("\n")).toString("base64");
}

const textOf = (base64: string): string => Buffer.from(base64, "base64").toString("utf8");
