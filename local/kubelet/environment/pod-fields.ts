import type { Pod } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { ownField } from "../../../lib/data/own-fields.ts";
import { StartRefused } from "../start-refusal.ts";

/** The node and address of a Pod. Its stored object does not have them yet when its first container starts. */
export interface PodPlace {
  readonly podIp: string;
  readonly hostIp: string;
  readonly nodeName: string;
}

/**
 * The value of a downward API field.
 *
 * @throws StartRefused for a path that the downward API does not support.
 */
export function fieldValue(fieldPath: string, { metadata, spec }: Stored<Pod>, place: PodPlace): string {
  const subscript = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(fieldPath);
  if (subscript) return ownField(metadata[subscript[1] as "labels" | "annotations"], subscript[2] ?? "") ?? "";
  switch (fieldPath) {
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace ?? "";
    case "metadata.uid":
      return metadata.uid;
    case "metadata.labels":
    case "metadata.annotations":
      return formatMap(metadata[fieldPath.slice("metadata.".length) as "labels" | "annotations"]);
    case "spec.nodeName":
      return place.nodeName;
    case "spec.serviceAccountName":
      return spec?.serviceAccountName ?? "default";
    case "status.podIP":
    case "status.podIPs":
      return place.podIp;
    case "status.hostIP":
    case "status.hostIPs":
      return place.hostIp;
    default:
      throw new StartRefused("CreateContainerConfigError", `unsupported fieldPath: ${fieldPath}`);
  }
}

/** `key="value"` lines in the order of their keys, as in the downward API. */
function formatMap(map: Readonly<Record<string, string>> = {}): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(map[key])}`)
    .join("\n");
}
