import { labelSelector } from "./selectors.ts";
import { atomicObject, listOf, mapOf, object, quantity, text } from "./shapes.ts";

/** `PersistentVolumeClaimSpec` of core/v1; the schema requires no field. */
export const storageClaimSpec = object({
  accessModes: listOf(text),
  dataSource: atomicObject({ apiGroup: text, "kind*": text, "name*": text }),
  dataSourceRef: object({ apiGroup: text, "kind*": text, "name*": text, namespace: text }),
  resources: object({ limits: mapOf(quantity), requests: mapOf(quantity) }),
  selector: labelSelector,
  storageClassName: text,
  volumeAttributesClassName: text,
  volumeMode: text,
  volumeName: text,
});
