import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { adoptableLabel, sandboxNameHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controllerReference, describeOwner, takenOverBy } from "../ownership.ts";

/** Whether an object without a controller was created for this sandbox, by its label. */
export function isAdoptable(child: KubeObject, sandbox: Stored<Sandbox>): boolean {
  const { labels = {} } = child.metadata;
  return labels[adoptableLabel] === "true" || labels[sandboxNameHashLabel] === nameHash(sandbox.metadata.name);
}

/** The metadata with which the sandbox takes over a child, with the resourceVersion that was read. */
export const adoptedBy = (sandbox: Stored<Sandbox>, child: Stored<KubeObject>) =>
  takenOverBy(controllerReference(sandboxType, sandbox), child);

/** Why a child with the expected name cannot belong to the sandbox. */
export function refusalToAdopt(kind: string, child: KubeObject): string {
  const { name } = child.metadata;
  return describeOwner(child) === "no object"
    ? `${kind} ${name} exists and is not controlled by this Sandbox; label it ${adoptableLabel}=true to have it adopted`
    : `${kind} ${name} is controlled by ${describeOwner(child)}`;
}
