import type { KubeList, KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import type { KubeClient, Selection } from "./client.ts";
import { AnswerTooLarge, ApiUnreachable, isExpired } from "./errors.ts";

const initialPageSize = 500;

/** The page size in objects. Shared by consecutive lists: it is smaller after a page exceeded the size limit. */
export class PageSize {
  #objects = initialPageSize;

  get objects(): number {
    return this.#objects;
  }

  get isInitial(): boolean {
    return this.#objects === initialPageSize;
  }

  /** Returns false if a page has one object already. */
  halve(): boolean {
    if (this.#objects === 1) return false;
    this.#objects = Math.ceil(this.#objects / 2);
    return true;
  }
}

export interface Snapshot<T extends KubeObject> {
  readonly items: readonly Stored<T>[];
  /** The version of the list; a watch continues from it. */
  readonly resourceVersion: string;
}

export interface PagedSelection extends Selection {
  /** Of consecutive lists of one caller; absent: 500 at first. */
  readonly pageSize?: PageSize | undefined;
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
  { pageSize = new PageSize(), ...selection }: PagedSelection,
  signal: AbortSignal,
): Promise<Snapshot<T>> {
  const pages = new Pages(client, type, { selection, pageSize }, signal);
  let page = await pages.read();
  const { resourceVersion } = page.metadata;
  const items = [...page.items];
  while (page.metadata.continue) {
    const token = page.metadata.continue;
    try {
      page = await pages.read(token);
    } catch (error) {
      if (!isExpired(error) || !pageSize.isInitial) throw error;
      const whole = await client.list(type, selection, signal);
      return { items: whole.items, resourceVersion: whole.metadata.resourceVersion };
    }
    if (page.metadata.continue === token)
      throw new ApiUnreachable(`the list of ${type.plural} does not end: the server repeats a continue token`);
    for (const item of page.items) items.push(item);
  }
  return { items, resourceVersion };
}

class Pages<T extends KubeObject> {
  readonly #client: KubeClient;
  readonly #type: ResourceType<T>;
  readonly #selection: Selection;
  readonly #pageSize: PageSize;
  readonly #signal: AbortSignal;

  constructor(
    client: KubeClient,
    type: ResourceType<T>,
    { selection, pageSize }: { readonly selection: Selection; readonly pageSize: PageSize },
    signal: AbortSignal,
  ) {
    this.#client = client;
    this.#type = type;
    this.#selection = selection;
    this.#pageSize = pageSize;
    this.#signal = signal;
  }

  /** The page of a token; without one, the first. */
  async read(token?: string): Promise<KubeList<T>> {
    for (;;) {
      const limit = this.#pageSize.objects;
      const page = { ...this.#selection, limit, ...(token !== undefined && { continue: token }) };
      try {
        return await this.#client.list(this.#type, page, this.#signal);
      } catch (error) {
        if (!(error instanceof AnswerTooLarge) || !this.#pageSize.halve()) throw error;
      }
    }
  }
}
