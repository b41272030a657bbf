import { ownField } from "../../lib/data/own-fields.ts";

/** The merge of a list: item by item under a key, as a set of plain values, or by replacement. */
export type ListMerge = { readonly by: string } | "set" | "replace";

const keysByField: Readonly<Record<string, ListMerge>> = {
  addresses: { by: "type" },
  conditions: { by: "type" },
  containers: { by: "name" },
  env: { by: "name" },
  ephemeralContainers: { by: "name" },
  finalizers: "set",
  hostAliases: { by: "ip" },
  hostIPs: { by: "ip" },
  imagePullSecrets: { by: "name" },
  initContainers: { by: "name" },
  ownerReferences: { by: "uid" },
  podIPs: { by: "ip" },
  resourceClaims: { by: "name" },
  schedulingGates: { by: "name" },
  secrets: { by: "name" },
  topologySpreadConstraints: { by: "topologyKey" },
  volumeDevices: { by: "devicePath" },
  volumeMounts: { by: "mountPath" },
  volumes: { by: "name" },
};

const containerLists: ReadonlySet<string> = new Set(["containers", "initContainers", "ephemeralContainers"]);

/**
 * The merge strategy of the list at a path of field names (without indexes), as declared by the types of the built-in
 * kinds. Lists without a declaration are replaced.
 */
export function listMergeAt(path: readonly string[]): ListMerge {
  const field = path.at(-1) ?? "";
  if (field !== "ports") return ownField(keysByField, field) ?? "replace";
  if (path.some((step) => containerLists.has(step))) return { by: "containerPort" };
  // Of the other kinds only a Service has ports that merge; those of slices and policies have other paths.
  return path.length === 2 && path[0] === "spec" ? { by: "port" } : "replace";
}
