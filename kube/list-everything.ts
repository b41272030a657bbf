import type { KubeObject, Stored } from "../api/meta.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { KubeClient, Selection } from "./client.ts";
import { ApiUnreachable, isExpired } from "./errors.ts";

const pageSize = 500;

export interface Snapshot<T extends KubeObject> {
  readonly items: readonly Stored<T>[];
  /** The state of the world that the items show; a watch goes on from here. */
  readonly resourceVersion: string;
}

/**
 * A consistent list of everything that is selected, in pages where the server has them. If the server forgets the
 * snapshot between two pages, everything is read once more in one answer.
 *
 * @throws what `KubeClient.list` throws.
 */
export async function listEverything<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  selection: Selection,
  signal: AbortSignal,
): Promise<Snapshot<T>> {
  let page = await client.list(type, { ...selection, limit: pageSize }, signal);
  const { resourceVersion } = page.metadata;
  const items = [...page.items];
  while (page.metadata.continue) {
    const token = page.metadata.continue;
    try {
      page = await client.list(type, { ...selection, limit: pageSize, continue: token }, signal);
    } catch (error) {
      if (!isExpired(error)) throw error;
      const whole = await client.list(type, selection, signal);
      return { items: whole.items, resourceVersion: whole.metadata.resourceVersion };
    }
    if (page.metadata.continue === token) throw new ApiUnreachable(`listing ${type.plural} does not come to an end`);
    for (const item of page.items) items.push(item);
  }
  return { items, resourceVersion };
}
