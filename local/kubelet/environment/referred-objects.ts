import { type ConfigMap, configMapType, type Secret, secretType } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import type { ReferredObjects } from "./container-environment.ts";

interface References {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

/** Reads the objects that a Pod refers to by name. Missing objects are absent from the result. */
export async function readReferredObjects(
  client: KubeClient,
  namespace: string | undefined,
  references: References,
  signal: AbortSignal,
): Promise<ReferredObjects> {
  const read = async <T extends KubeObject>(type: ResourceType<T>, names: ReadonlySet<string>) => {
    const found = new Map<string, T>();
    for (const name of names) {
      try {
        found.set(name, await client.get(type, { namespace, name }, signal));
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return found;
  };
  const [configMaps, secrets] = await Promise.all([
    read<ConfigMap>(configMapType, references.configMaps),
    read<Secret>(secretType, references.secrets),
  ]);
  return { configMaps, secrets };
}
