import { allDefinitions } from "../../api/crd/definitions.ts";
import { customResourceDefinitionType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import { sameJson } from "../json-values.ts";
import { resourceName } from "../status-errors.ts";
import type { Storage } from "../storage/storage.ts";
import { newUid, wireTime } from "./object-identity.ts";

const definitions = resourceName(customResourceDefinitionType);

/** Creates the definitions of the custom kinds, or updates those of an older program. */
export function showDefinitions(storage: Storage, now: Date): void {
  for (const definition of allDefinitions()) {
    const { name = "" } = definition.metadata;
    const current = storage.get(definitions, undefined, name)?.object;
    const { spec } = definition as { readonly spec?: unknown };
    if (current && sameJson((current as { readonly spec?: unknown }).spec, spec)) continue;
    const created = current?.metadata ?? { uid: newUid(), creationTimestamp: wireTime(now), generation: 0 };
    storage.put(definitions, {
      ...definition,
      apiVersion: apiVersionOf(customResourceDefinitionType),
      kind: customResourceDefinitionType.kind,
      metadata: { ...created, ...definition.metadata, generation: (created.generation ?? 0) + 1 },
      status: { conditions: established(wireTime(now)) },
    } as KubeObject);
  }
}

const established = (lastTransitionTime: string) => [
  {
    type: "NamesAccepted",
    status: "True",
    reason: "NoConflicts",
    message: "no conflicts found",
    lastTransitionTime,
  },
  {
    type: "Established",
    status: "True",
    reason: "InitialNamesAccepted",
    message: "the initial names have been accepted",
    lastTransitionTime,
  },
];
