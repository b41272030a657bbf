import { adoptableLabel, sandboxNameHashLabel } from "../../api/keys.ts";
import type { KubeObject, Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import { controllerReference, describeOwner, withController } from "../ownership.ts";

/** Whether an object that nobody controls was made for this sandbox, and says so by a label. */
export function isAdoptable(child: KubeObject, sandbox: Stored<Sandbox>): boolean {
  const { labels = {} } = child.metadata;
  return labels[adoptableLabel] === "true" || labels[sandboxNameHashLabel] === nameHash(sandbox.metadata.name);
}

/** The owner references of a child, once the sandbox controls it. */
export const adoptedBy = (sandbox: Stored<Sandbox>, child: KubeObject) =>
  withController(child, controllerReference(sandboxType, sandbox));

/** Why a child of the wanted name cannot be the sandbox's. */
export function refusalToAdopt(kind: string, child: KubeObject): string {
  const { name } = child.metadata;
  return describeOwner(child) === "nobody"
    ? `${kind} ${name} exists and is not controlled by this Sandbox; label it ${adoptableLabel}=true to have it adopted`
    : `${kind} ${name} is controlled by ${describeOwner(child)}`;
}
