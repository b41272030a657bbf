import type { KubeObject } from "../../api/meta.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Answer, type Exchange, jsonAnswer, readBody } from "./exchange.ts";
import { isJsonObject } from "./frozen.ts";
import { type KindRegistry, storedResource } from "./kind-registry.ts";
import { type DeletionRequest, ObjectDeletion } from "./object-deletion.ts";
import { ObjectWrites, type WriteMode } from "./object-writes.ts";
import { mergePatch } from "./patch/merge-patch.ts";
import { parseResourcePath, type ResourcePath } from "./routes.ts";
import { type Predicate, parseFieldSelector, parseLabelSelector } from "./selectors.ts";
import type { ServedKind } from "./served-kind.ts";
import { badRequest, methodNotAllowed, noSuchResource, notFound, unsupportedMediaType } from "./status-errors.ts";
import type { Storage } from "./storage.ts";
import type { WatchHub } from "./watch-hub.ts";
import { type WatchLimits, WatchStream } from "./watch-stream.ts";

export interface Backend {
  readonly clock: Clock;
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly kinds: KindRegistry;
  readonly maxBodyBytes: number;
  readonly watchLimits: WatchLimits;
  readonly watches: Set<WatchStream>;
}

/** Answers requests for objects and collections. */
export class RequestHandler {
  readonly #backend: Backend;
  readonly #writes: ObjectWrites;
  readonly #deletion: ObjectDeletion;

  constructor(backend: Backend) {
    this.#backend = backend;
    this.#writes = new ObjectWrites(backend.storage, backend.clock);
    this.#deletion = new ObjectDeletion(backend.storage, backend.clock);
  }

  /** Undefined when the answer is a stream that has begun. */
  async handle(exchange: Exchange): Promise<Answer | undefined> {
    const path = parseResourcePath(exchange.path);
    const kind = path && this.#backend.kinds.at(path.group, path.version, path.plural);
    if (!path || !kind) throw noSuchResource();
    const { method } = exchange;
    if (path.name === undefined) {
      if (method === "GET") return this.#list(kind, path, exchange);
      if (method === "POST") return this.#create(kind, path, exchange);
      throw methodNotAllowed();
    }
    if (method === "GET") return this.#get(kind, path, path.name);
    if (method === "PUT") return this.#replace(kind, path, path.name, exchange);
    if (method === "PATCH") return this.#patch(kind, path, path.name, exchange);
    if (method === "DELETE") return this.#delete(kind, path, path.name, exchange);
    throw methodNotAllowed();
  }

  #get(kind: ServedKind, { namespace }: ResourcePath, name: string): Answer {
    const entry = this.#backend.storage.get(storedResource(kind), namespace, name);
    if (!entry) throw notFound(kind.type, name);
    return jsonAnswer(200, entry.json);
  }

  #list(kind: ServedKind, { namespace }: ResourcePath, { query, response }: Exchange): Answer | undefined {
    const { storage, clock, hub, watchLimits, watches } = this.#backend;
    const matches = selectionOf(kind, query);
    if (/^(1|true|True)$/.test(query.get("watch") ?? "")) {
      const resourceVersion = query.get("resourceVersion");
      const stream = new WatchStream(
        response,
        {
          kind,
          namespace,
          resourceVersion: resourceVersion ? Number(resourceVersion) : undefined,
          sendInitialEvents: query.get("sendInitialEvents") === "true",
          timeoutSeconds: query.has("timeoutSeconds") ? Number(query.get("timeoutSeconds")) : undefined,
          bookmarks: query.get("allowWatchBookmarks") === "true",
          matches,
          look: { name: "object", encode: ({ json }) => json },
        },
        storage,
        clock,
        watchLimits,
      );
      watches.add(stream);
      response.on("close", () => watches.delete(stream));
      stream.start(hub);
      return undefined;
    }
    const items = storage.list(storedResource(kind), namespace).filter(({ object }) => matches(object));
    const head = `{"kind":"${kind.listKind}","apiVersion":"${apiVersionOf(kind.type)}"`;
    const body = items.map(({ json }) => json).join(",");
    return jsonAnswer(200, `${head},"metadata":{"resourceVersion":"${storage.version}"},"items":[${body}]}`);
  }

  async #create(kind: ServedKind, { namespace }: ResourcePath, exchange: Exchange): Promise<Answer> {
    const body = await this.#object(exchange);
    return jsonAnswer(201, this.#writes.create(kind, namespace, body, modeOf(exchange)).entry.json);
  }

  async #replace(kind: ServedKind, path: ResourcePath, name: string, exchange: Exchange): Promise<Answer> {
    const body = await this.#object(exchange);
    const change = { subresource: statusOf(path), versionRequired: !kind.strategicMerge, change: () => body };
    return jsonAnswer(200, this.#writes.update(kind, path.namespace, name, change, modeOf(exchange)).entry.json);
  }

  async #patch(kind: ServedKind, path: ResourcePath, name: string, exchange: Exchange): Promise<Answer> {
    const type = exchange.request.headers["content-type"] ?? "";
    if (!type.startsWith("application/merge-patch+json")) throw unsupportedMediaType(["application/merge-patch+json"]);
    const patch = await this.#json(exchange);
    const change = {
      subresource: statusOf(path),
      versionRequired: false,
      change: (current: KubeObject) => mergePatch(current, patch) as KubeObject,
    };
    return jsonAnswer(200, this.#writes.update(kind, path.namespace, name, change, modeOf(exchange)).entry.json);
  }

  async #delete(kind: ServedKind, path: ResourcePath, name: string, exchange: Exchange): Promise<Answer> {
    const body = await this.#json(exchange);
    const options = isJsonObject(body) ? body : {};
    const preconditions = isJsonObject(options["preconditions"]) ? options["preconditions"] : {};
    const request: DeletionRequest = { ...options, ...preconditions, dryRun: false };
    const { entry, gone } = this.#deletion.delete(kind, path.namespace, name, request);
    if (!gone || kind.strategicMerge) return jsonAnswer(200, entry.json);
    const { group, plural } = kind.type;
    const details = { name, ...(group && { group }), kind: plural, uid: entry.object.metadata.uid };
    return jsonAnswer(
      200,
      JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details }),
    );
  }

  async #json({ request }: Exchange): Promise<unknown> {
    const bytes = await readBody(request, this.#backend.maxBodyBytes);
    if (bytes.length === 0) return undefined;
    try {
      return JSON.parse(bytes.toString("utf8"));
    } catch (error) {
      throw badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`);
    }
  }

  async #object(exchange: Exchange): Promise<KubeObject> {
    const body = await this.#json(exchange);
    if (!isJsonObject(body)) throw badRequest("the body of the request is not an object");
    const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
    return { ...body, metadata };
  }
}

function statusOf({ subresource }: ResourcePath): "status" | undefined {
  if (subresource === undefined || subresource === "status") return subresource;
  throw noSuchResource();
}

function modeOf({ query }: Exchange): WriteMode {
  const asked = query.get("fieldValidation");
  return {
    dryRun: query.get("dryRun") === "All",
    fieldValidation: asked === "Strict" || asked === "Ignore" ? asked : "Warn",
  };
}

function selectionOf(kind: ServedKind, query: URLSearchParams): Predicate {
  const byLabel = parseLabelSelector(query.get("labelSelector") ?? "");
  const byField = parseFieldSelector(query.get("fieldSelector") ?? "", kind.selectableFields);
  return (object) => byLabel(object) && byField(object);
}
