import { podType } from "../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import type { KubeClient, Selection } from "../../kube/client/client.ts";
import { listEverything } from "../../kube/client/list-everything.ts";
import { mayRun, usesPolicy } from "./policy-users.ts";

interface Kind<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly isUser: (object: Stored<T>) => boolean;
}

/**
 * Whether the API server shows users of the policy of a template. The same objects count as in the stores: if others did, a
 * deletion might be skipped that no later event brings about.
 */
export async function showsUsers(
  client: KubeClient,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  signal: AbortSignal,
): Promise<boolean> {
  const selection = { namespace, labelSelector: `${templateRefHashLabel}=${nameHash(name)}` };
  return (
    (await showsAny(client, { type: sandboxType, isUser: usesPolicy }, selection, signal)) ||
    (await showsAny(client, { type: podType, isUser: mayRun }, selection, signal))
  );
}

/** The first object mostly is a user, and then the others are not read. */
async function showsAny<T extends KubeObject>(
  client: KubeClient,
  { type, isUser }: Kind<T>,
  selection: Selection,
  signal: AbortSignal,
): Promise<boolean> {
  const first = await client.list(type, { ...selection, limit: 1 }, signal);
  if (first.items.some(isUser)) return true;
  if (!first.metadata.continue) return false;
  return (await listEverything(client, type, selection, signal)).items.some(isUser);
}
