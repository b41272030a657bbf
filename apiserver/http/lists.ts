import { keyOf } from "../../api/kinds/meta.ts";
import { storedResource } from "../kind-registry.ts";
import { viewOf } from "../objects/views.ts";
import type { ServedKind } from "../served-kind.ts";
import { badRequest, expired, StatusError, tooLargeResourceVersion } from "../status-errors.ts";
import type { Entry, Storage } from "../storage/storage.ts";
import { entriesAt } from "../watch/entries-at.ts";
import type { WatchHub } from "../watch/watch-hub.ts";
import { type Continuation, continueToken, readContinueToken } from "./continue-token.ts";
import { isExact, isSelecting, readLimit, readSelection, readVersion } from "./query.ts";

/** The objects that a list or a deletion asks for. */
export interface ListRequest {
  readonly kind: ServedKind;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
}

/** `ListMeta`. */
export interface PageMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface Page {
  readonly entries: readonly Entry[];
  readonly metadata: PageMetadata;
}

/**
 * A page has no more, but at least one object, also if its limit is higher: a client may have to read a list whose text is larger than
 * what it reads at once. Only a client that asks for pages gets them.
 */
const pageBytesMax = 16 * 1_024 * 1_024;

const tooOld =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";

/** Lists, whole or in pages. All pages of a list show the state of the first one. */
export class Lists {
  readonly #storage: Storage;
  readonly #hub: WatchHub;

  constructor({ storage, hub }: { readonly storage: Storage; readonly hub: WatchHub }) {
    this.#storage = storage;
    this.#hub = hub;
  }

  /** @throws StatusError 400 for a bad token, 410 for a version that is no longer known, 504 for one that is not reached. */
  page(asked: ListRequest): Page {
    const { query } = asked;
    const { version, start } = this.#begin(query);
    const limit = readLimit(query);
    // kube-apiserver answers this one from its cache, which has no pages.
    const isWhole = limit === 0 || query.get("resourceVersion") === "0";
    const all = this.#entriesAt(asked, version).filter(({ object }) => keyOf(object) >= start);
    const matches = readSelection(asked.kind, query);
    const entries: Entry[] = [];
    let bytes = 0;
    for (const [index, stored] of all.entries()) {
      const entry = viewOf(asked.kind, stored);
      if (!matches(entry.object)) continue;
      bytes += isWhole ? 0 : entry.json.length;
      if (!isWhole && (entries.length === limit || (bytes > pageBytesMax && entries.length > 0))) {
        const next = continueToken({ version, start: keyOf(stored.object) });
        const rest = isSelecting(query) ? {} : { remainingItemCount: all.length - index };
        return { entries, metadata: { resourceVersion: String(version), continue: next, ...rest } };
      }
      entries.push(entry);
    }
    return { entries, metadata: { resourceVersion: String(version) } };
  }

  /** All of them, in the version of their kind. */
  select({ kind, namespace, query }: ListRequest): readonly Entry[] {
    const matches = readSelection(kind, query);
    return this.#storage
      .list(storedResource(kind), namespace)
      .map((entry) => viewOf(kind, entry))
      .filter(({ object }) => matches(object));
  }

  #begin(query: URLSearchParams): Continuation {
    const current = this.#storage.version;
    const token = query.get("continue");
    const asOf = readVersion(query);
    if (token) {
      if (asOf) throw badRequest("specifying resource version is not allowed when using continue");
      const continuation = readContinueToken(token);
      // Of an earlier run of this server, whose objects are gone.
      if (continuation.version > current) throw expired(tooOld);
      return continuation;
    }
    if (asOf !== undefined && asOf > current) throw tooLargeResourceVersion(asOf, current);
    return { version: isExact(query) ? (asOf ?? current) : current, start: "" };
  }

  #entriesAt({ kind, namespace, query }: ListRequest, version: number): readonly Entry[] {
    const resource = storedResource(kind);
    if (version === this.#storage.version) return this.#storage.list(resource, namespace);
    try {
      const entries = entriesAt({ storage: this.#storage, hub: this.#hub }, resource, version);
      return namespace === undefined
        ? entries
        : entries.filter(({ object }) => object.metadata.namespace === namespace);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      throw expired(query.get("continue") ? tooOld : "The resourceVersion for the provided list is too old.");
    }
  }
}
