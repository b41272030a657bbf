import { createHash } from "node:crypto";
import type { ServedKind } from "../served-kind.ts";
import { aggregatedDiscovery, discoveryDocuments } from "./discovery.ts";
import { openApiDocuments } from "./openapi.ts";

export interface ServerDocument {
  readonly contentType: string;
  readonly body: string;
}

const json = "application/json";

/**
 * The server's documents: discovery, version and OpenAPI. They do not change while it runs, so each is generated once,
 * on its first request.
 */
export class ServerDocuments {
  readonly #kinds: readonly ServedKind[];
  readonly #made = new Map<string, ServerDocument>();
  #plain: ReadonlyMap<string, object> | undefined;

  constructor(kinds: readonly ServedKind[]) {
    this.#kinds = kinds;
  }

  /**
   * The document at a path; undefined if there is none. `aggregated` is the version of aggregated discovery that the
   * client prefers to plain discovery.
   */
  at(path: string, aggregated: "v2" | "v2beta1" | undefined): ServerDocument | undefined {
    const place = path.length > 1 ? path.replace(/\/$/, "") : path;
    if (aggregated && (place === "/api" || place === "/apis")) {
      const contentType = `${json};g=apidiscovery.k8s.io;v=${aggregated};as=APIGroupDiscoveryList`;
      return this.#document(`${place} ${aggregated}`, contentType, () =>
        aggregatedDiscovery(this.#kinds, place, aggregated),
      );
    }
    this.#plain ??= plainDocuments(this.#kinds);
    const document = this.#plain.get(place);
    return document && this.#document(place, json, () => document);
  }

  #document(name: string, contentType: string, make: () => object): ServerDocument {
    const made = this.#made.get(name) ?? { contentType, body: JSON.stringify(make()) };
    this.#made.set(name, made);
    return made;
  }
}

function plainDocuments(kinds: readonly ServedKind[]): ReadonlyMap<string, object> {
  const openApi = [...openApiDocuments(kinds)];
  return new Map<string, object>([
    ...discoveryDocuments(kinds),
    [
      "/openapi/v3",
      { paths: Object.fromEntries(openApi.map(([place, document]) => [place, indexEntry(place, document)])) },
    ],
    ...openApi.map(([place, document]): [string, object] => [`/openapi/v3/${place}`, document]),
  ]);
}

/** Clients cache a document until its hash changes. */
function indexEntry(place: string, document: object): object {
  const hash = createHash("sha256").update(JSON.stringify(document)).digest("hex").toUpperCase();
  return { serverRelativeURL: `/openapi/v3/${place}?hash=${hash}` };
}
