import type { StatusCause } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { storedResource } from "../kind-registry.ts";
import { scaleOf, withScale } from "../kinds/scale.ts";
import type { Deleted, ObjectDeletion } from "../objects/object-deletion.ts";
import type { ObjectWrites, Update, WriteMode, Written } from "../objects/object-writes.ts";
import { viewOf } from "../objects/views.ts";
import { patcherFor } from "../patch/patch-types.ts";
import type { ServedKind } from "../served-kind.ts";
import { invalid, noSuchResource, notFound, tooLargeResourceVersion } from "../status-errors.ts";
import type { Entry, Storage } from "../storage/storage.ts";
import type { WatchHub } from "../watch/watch-hub.ts";
import { wholeObject } from "../watch/watch-stream.ts";
import type { Watches } from "../watch/watches.ts";
import { refuseGrownValue, refuseLargeValue } from "./body-shape.ts";
import { type Answer, type Exchange, type Handled, jsonAnswer, streaming, warn } from "./exchange.ts";
import { Lists, type Page } from "./lists.ts";
import { mediaTypeOf, parsePatchBody, readAccept } from "./media-types.ts";
import {
  checkListOptions,
  readBoolean,
  readCount,
  readDeletion,
  readSelection,
  readVersion,
  readWriteMode,
} from "./query.ts";
import { objectOf, readBytes, readValue, typedObject } from "./request-body.ts";
import { tableEncoding, tableJson } from "./table-answers.ts";
import type { UnfinishedBodies } from "./unfinished-bodies.ts";
import type { UnsentAnswers } from "./unsent-answers.ts";

/** A request for a served kind: the collection, one object, or a subresource of it. */
export interface ResourceRequest extends Exchange {
  readonly kind: ServedKind;
  readonly namespace: string | undefined;
  readonly subresource: Update["subresource"];
}

export interface NamedRequest extends ResourceRequest {
  readonly name: string;
}

export interface ResourceRequestsOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly writes: ObjectWrites;
  readonly deletion: ObjectDeletion;
  readonly watches: Watches;
  readonly bodies: UnfinishedBodies;
  readonly unsent: UnsentAnswers;
}

// kube-apiserver allows no unconditional updates of these kinds.
const alwaysUnderVersion: ReadonlySet<string> = new Set(["leases.coordination.k8s.io"]);

/**
 * Answers requests for objects and collections. Nothing is awaited between the body and the response, so each request
 * is atomic.
 */
export class ResourceRequests {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #writes: ObjectWrites;
  readonly #deletion: ObjectDeletion;
  readonly #watches: Watches;
  readonly #bodies: UnfinishedBodies;
  readonly #unsent: UnsentAnswers;
  readonly #lists: Lists;

  constructor({ storage, hub, clock, writes, deletion, watches, bodies, unsent }: ResourceRequestsOptions) {
    this.#storage = storage;
    this.#clock = clock;
    this.#writes = writes;
    this.#deletion = deletion;
    this.#watches = watches;
    this.#bodies = bodies;
    this.#unsent = unsent;
    this.#lists = new Lists({ storage, hub });
  }

  get(asked: NamedRequest): Answer {
    const { kind, namespace, name, query } = asked;
    this.#refuseFuture(readVersion(query));
    const stored = this.#storage.get(storedResource(kind), namespace, name);
    if (!stored) throw notFound(kind.type, name);
    return this.#answer(200, asked, viewOf(kind, stored));
  }

  list(asked: ResourceRequest): Handled {
    checkListOptions(asked.query);
    if (readBoolean(asked.query, "watch")) return this.#watch(asked);
    const { kind, query, request } = asked;
    const page = this.#lists.page(asked);
    return readAccept(request.headers.accept).table
      ? jsonAnswer(200, tableJson(kind, page, this.#clock.now(), query))
      : jsonAnswer(200, listJson(kind, page));
  }

  async create(asked: ResourceRequest): Promise<Answer> {
    const { kind, namespace, query, request } = asked;
    const body = objectOf(await readValue(request, this.#bodies), kind, namespace);
    return this.#written(201, asked, this.#writes.create(kind, namespace, body, this.#mode(query)));
  }

  async replace(asked: NamedRequest): Promise<Answer> {
    const { kind, namespace, subresource, request } = asked;
    const value = await readValue(request, this.#bodies);
    const { scale } = kind;
    if (subresource === "scale" && scale) {
      const body = typedObject(value, scaleType, false);
      return this.#update(asked, false, (current) => withScale(kind, current, body, scale));
    }
    const body = objectOf(value, kind, namespace);
    const underVersion = !kind.strategicMerge || alwaysUnderVersion.has(storedResource(kind));
    return this.#update(asked, underVersion, () => body);
  }

  async patch(asked: NamedRequest): Promise<Answer> {
    const { kind, namespace, subresource, request } = asked;
    const patcher = patcherFor(kind, mediaTypeOf(request.headers["content-type"]));
    const patch = parsePatchBody(await readBytes(request, this.#bodies));
    const { scale } = kind;
    if (subresource === "scale" && scale) {
      return this.#update(asked, false, (current) =>
        withScale(
          kind,
          current,
          typedObject(refuseLargeValue(patcher(scaleOf(current, scale), patch)), scaleType, false),
          scale,
        ),
      );
    }
    return this.#update(asked, false, (current) => {
      const patched = objectOf(refuseGrownValue(patcher(current, patch), current), kind, namespace);
      // A custom resource keeps its metadata in a patch of its status, whatever the patch says.
      if (subresource === "status" && !kind.strategicMerge) {
        return { ...patched, metadata: { ...patched.metadata, uid: current.metadata.uid } };
      }
      const { uid } = patched.metadata;
      if (uid !== current.metadata.uid) throw invalid(kind.type, current.metadata.name, [immutableUid(uid)]);
      return patched;
    });
  }

  async delete(asked: NamedRequest): Promise<Answer> {
    const { kind, namespace, name, query, request } = asked;
    const options = readDeletion(await readValue(request, this.#bodies), query);
    const saysOnlyName = (isGone: boolean) => isGone && !returnsDeleted(kind);
    const beforeStored = (current: Deleted) => {
      if (!saysOnlyName(current.gone)) this.#unsent.refuseWithoutRoom(Buffer.byteLength(current.entry.json));
    };
    const { gone, entry } = this.#deletion.delete(kind, namespace, name, { ...options, beforeStored });
    const shown = { gone, entry: viewOf(kind, entry) };
    return saysOnlyName(gone) ? jsonAnswer(200, deletionJson(kind, shown)) : this.#answer(200, asked, shown.entry);
  }

  async deleteCollection(asked: ResourceRequest): Promise<Answer> {
    const { kind, query, request } = asked;
    checkListOptions(query);
    const options = readDeletion(await readValue(request, this.#bodies), query);
    const selected = this.#lists.select(asked);
    this.#unsent.refuseWithoutRoom(selected.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0));
    const deleted = selected.map(({ object: { metadata } }) =>
      viewOf(kind, this.#deletion.delete(kind, metadata.namespace, metadata.name, options).entry),
    );
    return jsonAnswer(
      200,
      listJson(kind, { entries: deleted, metadata: { resourceVersion: String(this.#storage.version) } }),
    );
  }

  #watch(asked: ResourceRequest): Handled {
    const { kind, namespace, query, request, response } = asked;
    const { table } = readAccept(request.headers.accept);
    this.#watches.start(response, {
      kind,
      namespace,
      resourceVersion: readVersion(query),
      sendInitialEvents: readBoolean(query, "sendInitialEvents"),
      timeoutSeconds: readCount(query, "timeoutSeconds") || undefined,
      bookmarks: readBoolean(query, "allowWatchBookmarks"),
      matches: readSelection(kind, query),
      encoding: table ? tableEncoding(kind, this.#clock, query) : wholeObject,
    });
    return streaming;
  }

  #update(asked: NamedRequest, versionRequired: boolean, change: Update["change"]): Answer {
    const { kind, namespace, name, subresource, query } = asked;
    const update: Update = { subresource, versionRequired, change };
    return this.#written(200, asked, this.#writes.update(kind, { namespace, name }, update, this.#mode(query)));
  }

  /** The answer to a write has its object, and there must be room for it before the object is stored. */
  #mode(query: URLSearchParams): WriteMode {
    return { ...readWriteMode(query), beforeStored: (bytes) => this.#unsent.refuseWithoutRoom(bytes) };
  }

  #written(code: number, asked: ResourceRequest, { entry, warnings }: Written): Answer {
    warn(asked.response, warnings);
    return this.#answer(code, asked, entry);
  }

  #answer(code: number, { kind, subresource, query, request }: ResourceRequest, entry: Entry): Answer {
    if (subresource === "scale" && kind.scale) {
      return jsonAnswer(code, JSON.stringify(scaleOf(entry.object, kind.scale)));
    }
    if (!readAccept(request.headers.accept).table) return jsonAnswer(code, entry.json);
    const { resourceVersion } = entry.object.metadata;
    const page = { entries: [entry], metadata: { resourceVersion } };
    return jsonAnswer(code, tableJson(kind, page, this.#clock.now(), query));
  }

  #refuseFuture(version: number | undefined): void {
    if (version !== undefined && version > this.#storage.version) {
      throw tooLargeResourceVersion(version, this.#storage.version);
    }
  }
}

// In a replacement the uid is a precondition; a patch would change it.
const immutableUid = (uid: string | undefined): StatusCause => ({
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(uid ?? "")}: field is immutable`,
  field: "metadata.uid",
});

const scaleType = { group: "autoscaling", version: "v1", kind: "Scale" };

/** @throws StatusError 404 when the kind has no such subresource. */
export function subresourceOf(kind: ServedKind, name: string, part: string | undefined): Update["subresource"] {
  if (part === undefined) return undefined;
  if (part === "status" && kind.hasStatus) return part;
  if (part === "scale" && kind.scale) return part;
  throw kind.strategicMerge ? noSuchResource() : notFound(kind.type, name);
}

function listJson(kind: ServedKind, { entries, metadata }: Page): string {
  const items = entries.map(({ json }) => json).join(",");
  const head = { kind: kind.listKind, apiVersion: apiVersionOf(kind.type), metadata };
  return `${JSON.stringify(head).slice(0, -1)},"items":[${items}]}`;
}

// A deletion of these kinds returns the deleted object, of others a Status with its name.
const returnDeleted: ReadonlySet<string> = new Set(["Pod", "Service", "ServiceAccount", "PersistentVolumeClaim"]);
const returnsDeleted = (kind: ServedKind): boolean => kind.type.group === "" && returnDeleted.has(kind.type.kind);

function deletionJson({ type }: ServedKind, { entry }: Deleted): string {
  const { name, uid } = entry.object.metadata;
  const details = { name, ...(type.group !== "" && { group: type.group }), kind: type.plural, uid };
  return JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
}
