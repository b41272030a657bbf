import type { ServerResponse } from "node:http";
import { vi } from "vitest";
import type { KubeObject, Status, Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { waiting } from "../waiting.ts";
import { answerJson, openScriptedApi, type Received } from "./scripted-api.ts";

/** An open watch of a client. The test sends the events and ends it. */
export class OpenWatch {
  readonly query: Received["query"];
  readonly #response: ServerResponse;

  constructor(query: Received["query"], response: ServerResponse) {
    this.query = query;
    this.#response = response;
    response.writeHead(200).flushHeaders();
  }

  /** Whether either side has closed it. */
  get closed(): boolean {
    return this.#response.closed;
  }

  send(type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR", object: KubeObject | Status): void {
    this.say(`${JSON.stringify({ type, object })}\n`);
  }

  bookmark(resourceVersion: string): void {
    this.send("BOOKMARK", { metadata: { resourceVersion } });
  }

  say(text: string): void {
    this.#response.write(text);
  }

  /** Ends it cleanly. */
  end(): void {
    this.#response.end();
  }

  drop(): void {
    this.#response.destroy();
  }
}

/** One collection on a server whose answers are set by the test. */
export interface ScriptedCollection extends AsyncDisposable {
  readonly client: KubeClient;
  /** The items of the next lists. */
  items: readonly KubeObject[];
  version: string;
  /** If set, every list fails with this status. */
  listFailure: Status | undefined;
  /** If set, every watch fails with this status. */
  watchFailure: Status | undefined;
  /** If set, lists return pages of this size. Otherwise `limit` is ignored. */
  pageSize: number | undefined;
  /** If set, every page but the first fails with this status. */
  continueFailure: Status | undefined;
  readonly lists: readonly Received[];
  /** The number of requested watches, including failed ones. */
  readonly watchAttempts: readonly Received[];
  /** The watch that was opened as number `index`, as soon as it is open. */
  watch(index: number): Promise<OpenWatch>;
}

export async function openScriptedCollection(): Promise<ScriptedCollection> {
  const lists: Received[] = [];
  const watchAttempts: Received[] = [];
  const watches: OpenWatch[] = [];
  const api = await openScriptedApi((received, response) => {
    if (received.query["watch"]) {
      watchAttempts.push(received);
      const failure = collection.watchFailure;
      if (failure) answerJson(response, failure.code ?? 500, failure);
      else watches.push(new OpenWatch(received.query, response));
      return;
    }
    lists.push(received);
    const failure = received.query["continue"] ? collection.continueFailure : collection.listFailure;
    if (failure) answerJson(response, failure.code ?? 500, failure);
    else answerJson(response, 200, pageOf(collection, received.query));
  });
  const collection: ScriptedCollection = {
    client: api.client,
    items: [],
    version: "1",
    listFailure: undefined,
    watchFailure: undefined,
    pageSize: undefined,
    continueFailure: undefined,
    lists,
    watchAttempts,
    watch: (index) =>
      vi.waitFor(() => {
        const watch = watches[index];
        if (!watch) throw new Error(`watch ${index} was not opened`);
        return watch;
      }, waiting),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
  return collection;
}

function pageOf({ items, version, pageSize }: ScriptedCollection, query: Received["query"]) {
  const from = Number(query["continue"] ?? 0);
  const to = pageSize !== undefined && query["limit"] ? from + pageSize : items.length;
  const more = to < items.length && { continue: String(to) };
  return { metadata: { resourceVersion: version, ...more }, items: items.slice(from, to) };
}

/** An object as a server has stored it; its version is also its whole content. */
export const aStored = (name: string, resourceVersion: string, uid = `uid-of-${name}`): Stored<KubeObject> => ({
  metadata: { namespace: "team", name, uid, resourceVersion, creationTimestamp: "2026-01-01T00:00:00Z" },
});
