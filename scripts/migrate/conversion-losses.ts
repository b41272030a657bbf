import { convert } from "../../api/conversion/convert.ts";
import {
  sandboxClaimV1alpha1Type,
  sandboxTemplateV1alpha1Type,
  sandboxV1alpha1Type,
  sandboxWarmPoolV1alpha1Type,
} from "../../api/conversion/v1alpha1.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { apiVersionOf, type ResourceType } from "../../api/kinds/resource-type.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { listServed } from "./list-served.ts";

const kinds: readonly ResourceType<KubeObject>[] = [
  sandboxWarmPoolV1alpha1Type,
  sandboxTemplateV1alpha1Type,
  sandboxV1alpha1Type,
  sandboxClaimV1alpha1Type,
];

/**
 * The data that the conversion will leave out of `v1alpha1` objects, with the objects' names: annotations that cannot
 * be parsed, or that exceed the API server's limit.
 *
 * @throws the errors of `KubeClient.list`.
 */
export async function findConversionLosses(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const leftOut: string[] = [];
  for (const type of kinds) {
    const newer = apiVersionOf({ ...type, version: "v1beta1" });
    for (const object of (await listServed(client, type, namespace, signal)) ?? []) {
      convert({ ...object, apiVersion: apiVersionOf(type), kind: type.kind }, newer, undefined, leftOut);
    }
  }
  return leftOut;
}
