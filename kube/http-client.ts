import type { Registry } from "prom-client";
import type { KubeList, KubeObject, Stored } from "../api/meta.ts";
import { apiVersionOf, type ResourceType, resourcePath } from "../api/resource-type.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Rate } from "../lib/token-buckets.ts";
import type { KubeClient, ListOptions, ObjectName, Patch, WatchOptions, WriteOptions } from "./client.ts";
import type { KubeConnection } from "./connection.ts";
import { HttpTransport } from "./http-transport.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { parseWatch } from "./watch-lines.ts";

export interface KubeClientOptions {
  readonly userAgent: string;
  readonly clock?: Clock;
  /** Sockets for plain calls; watches have one each beside them. */
  readonly connections?: number;
  /** How many plain calls are sent, at most; absent: as many as there are. What must never wait has a client of its own. */
  readonly rate?: Rate | undefined;
  /** Where `rest_client_requests_total` is counted; one client to a registry. */
  readonly registry?: Registry;
}

// Enough for a hundred workers, of which most wait for something else, without a storm of handshakes at start.
export const callConnections = 32;

const patchContentTypes: Readonly<Record<Patch["type"], string>> = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** A client over HTTP. Disposing of it breaks off what is still under way. */
export function createKubeClient(connection: KubeConnection, options: KubeClientOptions): KubeClient & AsyncDisposable {
  const transport = new HttpTransport(connection, {
    userAgent: options.userAgent,
    clock: options.clock ?? systemClock,
    connections: options.connections ?? callConnections,
    rate: options.rate,
    metrics: options.registry && createRequestMetrics(options.registry, new URL(connection.server).host),
  });
  // The server's word for the type of what it sends is taken here, once; nothing below this line casts.
  const ask = <R>(...args: Parameters<typeof transport.call>) => transport.call(...args) as Promise<R>;

  return {
    get: (type, name, signal) => ask({ method: "GET", path: resourcePath(type, name) }, signal),

    async list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}, signal?: AbortSignal) {
      const { namespace, ...rest } = options;
      const path = resourcePath(type, { namespace }) + queryOf(rest);
      return withTypes(type, await ask<KubeList<T>>({ method: "GET", path }, signal));
    },

    watch<T extends KubeObject>(type: ResourceType<T>, options: WatchOptions, signal: AbortSignal) {
      const { namespace, allowBookmarks, onOpen, ...rest } = options;
      const query = queryOf({ ...rest, watch: true, allowWatchBookmarks: allowBookmarks });
      return parseWatch<T>(transport.stream(resourcePath(type, { namespace }) + query, signal, onOpen));
    },

    create: (type, object, write, signal) =>
      ask(
        {
          method: "POST",
          path: writePath(type, { namespace: object.metadata.namespace }, write),
          body: withType(type, object),
        },
        signal,
      ),

    replace(type, object, write, signal) {
      const { namespace, name = "" } = object.metadata;
      return ask(
        { method: "PUT", path: writePath(type, { namespace, name }, write), body: withType(type, object) },
        signal,
      );
    },

    patch(type, name, { type: patchType, body }, write, signal) {
      const contentType = patchContentTypes[patchType];
      return ask({ method: "PATCH", path: writePath(type, name, write), body, contentType }, signal);
    },

    async delete(type, name, deleteOptions, signal) {
      const body = { apiVersion: "v1", kind: "DeleteOptions", ...deleteOptions };
      await ask({ method: "DELETE", path: resourcePath(type, name), body }, signal);
    },

    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/** What is sent has to say what it is, and the caller has said so already by the type. */
function withType(type: ResourceType, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

/** In a list the items of built-in kinds do not say what they are. */
function withTypes<T extends KubeObject>(type: ResourceType<T>, list: KubeList<T>): KubeList<T> {
  const { kind } = type;
  const apiVersion = apiVersionOf(type);
  // A server written in Go may spell an empty list `null`.
  const items: readonly Stored<T>[] = list.items ?? [];
  return { ...list, items: items.map((item) => ({ apiVersion, kind, ...item })) };
}

function writePath(type: ResourceType, name: Partial<ObjectName>, { subresource, fieldManager }: WriteOptions = {}) {
  const where = { namespace: name.namespace, ...(name.name !== undefined && { name: name.name }) };
  return resourcePath(type, { ...where, ...(subresource && { subresource }) }) + queryOf({ fieldManager });
}

function queryOf(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? "" : `?${query}`;
}
