import type { KindRegistry } from "../kind-registry.ts";
import { verbsOf } from "../kinds/discovery.ts";
import type { ServerDocuments } from "../kinds/server-documents.ts";
import type { ServedKind } from "../served-kind.ts";
import { methodNotAllowed, noSuchResource } from "../status-errors.ts";
import { type AccessRules, refusalOfAccess } from "./access.ts";
import { type Answer, type Exchange, type Handled, jsonAnswer, warn } from "./exchange.ts";
import { readAccept } from "./media-types.ts";
import type { PodLogs } from "./pod-logs.ts";
import { type ResourceRequests, subresourceOf } from "./resource-requests.ts";
import { parseResourcePath, type ResourcePath } from "./routes.ts";

export interface Services {
  readonly access: AccessRules;
  readonly kinds: KindRegistry;
  readonly documents: ServerDocuments;
  readonly resources: ResourceRequests;
  readonly logs: PodLogs;
}

// Paths outside of the API get a plain response.
const nothingThere: Answer = { code: 404, contentType: "text/plain; charset=utf-8", body: "404 page not found\n" };

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

/** Handles a request: access, routing, and the response. Rejections are thrown. */
export async function handle(exchange: Exchange, services: Services): Promise<Handled> {
  const refusal = refusalOfAccess(exchange.request.headers, services.access);
  if (refusal) throw refusal;
  const path = parseResourcePath(exchange.path);
  const kind = path && services.kinds.at(path.group, path.version, path.plural);
  return path && kind ? handleResource(exchange, path, kind, services) : handleDocument(exchange, services.documents);
}

function handleDocument({ method, path, request }: Exchange, documents: ServerDocuments): Handled {
  const isHealth = healthPaths.has(path);
  const document = isHealth
    ? { contentType: "text/plain; charset=utf-8", body: "ok" }
    : documents.at(path, readAccept(request.headers.accept).aggregatedDiscovery);
  if (!document) return nothingThere;
  if (method !== "GET") throw methodNotAllowed();
  return { ...jsonAnswer(200, document.body), contentType: document.contentType };
}

async function handleResource(
  exchange: Exchange,
  { namespace, name, subresource: part }: ResourcePath,
  kind: ServedKind,
  { resources, logs }: Services,
): Promise<Handled> {
  const { method, response } = exchange;
  if (kind.deprecationWarning) warn(response, [kind.deprecationWarning]);
  if (!kind.type.namespaced && namespace !== undefined) throw noSuchResource();
  // Before anything is changed: a client must not get 406 for a change that is stored.
  if (part !== "log") readAccept(exchange.request.headers.accept);
  if (name === undefined) {
    const asked = { ...exchange, kind, namespace, subresource: undefined };
    // An object of a namespaced kind can only be created in a namespace.
    const creatable = !kind.type.namespaced || namespace !== undefined;
    if (method === "GET") return resources.list(asked);
    const verbs = verbsOf(kind);
    if (method === "POST" && creatable && verbs.includes("create")) return resources.create(asked);
    if (method === "DELETE" && creatable && verbs.includes("deletecollection"))
      return resources.deleteCollection(asked);
    throw methodNotAllowed();
  }
  if (kind.type.namespaced && namespace === undefined) throw noSuchResource();
  if (part === "log" && isPod(kind)) {
    if (method !== "GET") throw methodNotAllowed();
    return logs.serve({ namespace, name }, exchange);
  }
  const asked = { ...exchange, kind, namespace, name, subresource: subresourceOf(kind, name, part) };
  if (method === "GET") return resources.get(asked);
  if (kind.readOnly) throw methodNotAllowed();
  if (method === "PUT") return resources.replace(asked);
  if (method === "PATCH") return resources.patch(asked);
  if (method === "DELETE" && part === undefined) return resources.delete(asked);
  throw methodNotAllowed();
}

const isPod = ({ type }: ServedKind): boolean => type.group === "" && type.kind === "Pod";
