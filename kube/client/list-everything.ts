import type { KubeList, KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import type { KubeClient, Selection } from "./client.ts";
import { AnswerTooLarge, ApiUnreachable, isExpired } from "./errors.ts";

const pageSize = 500;

export interface Snapshot<T extends KubeObject> {
  readonly items: readonly Stored<T>[];
  /** The version of the list; a watch continues from it. */
  readonly resourceVersion: string;
  /** The page size for the next list: smaller than before if pages were too large. */
  readonly limit: number;
}

export interface PagedSelection extends Selection {
  /** The initial page size in objects; absent: 500. */
  readonly limit?: number | undefined;
}

/**
 * A consistent list of the selected objects, in pages if the server supports them. A page that exceeds the size limit
 * is requested again with half as many objects; a `continue` token is valid for any limit (Kubernetes API concepts,
 * "Retrieving large results sets in chunks"). If the snapshot expires between two pages, everything is read once more
 * in one response.
 *
 * @throws the errors of `KubeClient.list`; also an expired snapshot, if one response would be too large.
 */
export async function listEverything<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  { limit = pageSize, ...selection }: PagedSelection,
  signal: AbortSignal,
): Promise<Snapshot<T>> {
  const pages = new Pages(client, type, { selection, limit }, signal);
  let page = await pages.read();
  const { resourceVersion } = page.metadata;
  const items = [...page.items];
  while (page.metadata.continue) {
    const token = page.metadata.continue;
    try {
      page = await pages.read(token);
    } catch (error) {
      if (!isExpired(error) || pages.limit < pageSize) throw error;
      const whole = await client.list(type, selection, signal);
      return { items: whole.items, resourceVersion: whole.metadata.resourceVersion, limit: pages.limit };
    }
    if (page.metadata.continue === token)
      throw new ApiUnreachable(`the list of ${type.plural} does not end: the server repeats a continue token`);
    for (const item of page.items) items.push(item);
  }
  return { items, resourceVersion, limit: pages.limit };
}

class Pages<T extends KubeObject> {
  readonly #client: KubeClient;
  readonly #type: ResourceType<T>;
  readonly #selection: Selection;
  readonly #signal: AbortSignal;
  #limit: number;

  constructor(
    client: KubeClient,
    type: ResourceType<T>,
    { selection, limit }: { readonly selection: Selection; readonly limit: number },
    signal: AbortSignal,
  ) {
    this.#client = client;
    this.#type = type;
    this.#selection = selection;
    this.#signal = signal;
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  /** The page of a token; without one, the first. */
  async read(token?: string): Promise<KubeList<T>> {
    for (;;) {
      const page = { ...this.#selection, limit: this.#limit, ...(token !== undefined && { continue: token }) };
      try {
        return await this.#client.list(this.#type, page, this.#signal);
      } catch (error) {
        if (!(error instanceof AnswerTooLarge) || this.#limit === 1) throw error;
        this.#limit = Math.ceil(this.#limit / 2);
      }
    }
  }
}
