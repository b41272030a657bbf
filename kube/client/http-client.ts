import type { Registry } from "prom-client";
import type { KubeList, KubeObject, Stored } from "../../api/kinds/meta.ts";
import { apiVersionOf, type ResourceType, resourcePath } from "../../api/kinds/resource-type.ts";
import { subjectAccessReviewType, tokenReviewType } from "../../api/kinds/reviews.ts";
import type { Rate } from "../../lib/queues/token-buckets.ts";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import type { KubeClient, ListOptions, ObjectName, Patch, WatchOptions, WriteOptions } from "./client.ts";
import type { KubeConnection } from "./connection.ts";
import type { Call } from "./http-call.ts";
import { HttpTransport } from "./http-transport.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { parseWatch } from "./watch-lines.ts";
import { WatchSlices } from "./watch-slices.ts";

export interface KubeClientOptions {
  readonly userAgent: string;
  readonly clock?: Clock;
  /**
   * Connections for plain calls of one namespace; a quarter more are there for those of others. Each watch has one of its own, and
   * reviews have `reviewConnections`.
   */
  readonly connections?: number;
  /** The rate limit of plain calls; absent: none. Calls that must never wait have a client of their own. */
  readonly rate?: Rate | undefined;
  /** Large bodies are encoded and parsed in turns with other work of the process; absent: at once. */
  readonly turns?: Turns | undefined;
  /** The largest accepted response; absent: 256 MiB. Beyond it, lists are read in smaller pages. */
  readonly answerBytesMax?: number;
  /** The registry of `rest_client_requests_total`; one client for each registry. */
  readonly registry?: Registry;
}

// Enough for a hundred workers, most of which wait for something else, without many handshakes at start.
export const callConnections = 32;
/**
 * The part of that number that there is besides, for other namespaces than one whose calls hold all of it, as behind an admission webhook
 * that does not answer. They are opened only then, or for many namespaces at once.
 */
const sparePart = 0.25;

/**
 * A review lasts as long as the cluster's authenticator or authorizer takes, and a stranger's token causes one: no other call
 * waits behind it. As many as an activator has in flight: two kinds, new ones and renewals, 64 each.
 */
export const reviewConnections = 256;
const reviewGroups: ReadonlySet<string> = new Set([tokenReviewType.group, subjectAccessReviewType.group]);

const patchContentTypes: Readonly<Record<Patch["type"], string>> = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** A client over HTTP. Disposing aborts pending requests. */
export interface HttpClient extends KubeClient, AsyncDisposable {
  /** The same, with a check each time that a call is about to be sent, also again; it throws if that may not be. */
  checking(mayCall: () => void): KubeClient;
}

/** The client for a connection. Nothing is sent before the first call. */
export function createKubeClient(connection: KubeConnection, options: KubeClientOptions): HttpClient {
  const { connections = callConnections } = options;
  const transport = new HttpTransport(connection, {
    userAgent: options.userAgent,
    clock: options.clock ?? systemClock,
    connections,
    spareConnections: Math.floor(connections * sparePart),
    reviewConnections,
    rate: options.rate,
    turns: options.turns,
    answerBytesMax: options.answerBytesMax,
    metrics: options.registry && createRequestMetrics(options.registry, new URL(connection.server).host),
  });
  const slices = new WatchSlices(options.clock ?? systemClock);
  return {
    ...clientOn(transport, slices),
    checking: (mayCall) => clientOn(transport, slices, mayCall),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

function clientOn(transport: HttpTransport, slices: WatchSlices, mayCall?: () => void): KubeClient {
  // The only cast: the server's responses are assumed to have the requested type.
  const ask = <R>(call: Call, signal?: AbortSignal) => transport.call({ ...call, mayCall }, signal) as Promise<R>;

  return {
    get: (type, name, signal) =>
      ask({ method: "GET", path: resourcePath(type, name), namespace: name.namespace }, signal),

    async list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}, signal?: AbortSignal) {
      const { namespace, ...rest } = options;
      const path = resourcePath(type, { namespace }) + queryOf(rest);
      return withTypes(type, await ask<KubeList<T>>({ method: "GET", path, namespace }, signal));
    },

    watch<T extends KubeObject>(type: ResourceType<T>, options: WatchOptions, signal: AbortSignal) {
      const { namespace, allowBookmarks, onOpen, reading, ...rest } = options;
      const path =
        resourcePath(type, { namespace }) + queryOf({ ...rest, watch: true, allowWatchBookmarks: allowBookmarks });
      const left = new AbortController();
      const body = transport.stream(path, AbortSignal.any([signal, left.signal]), onOpen);
      return parseWatch<T>(body, { slices, reading, onLeave: () => left.abort() });
    },

    create(type, object, write, signal) {
      const { namespace } = object.metadata;
      const path = writePath(type, { namespace }, write);
      const isReview = reviewGroups.has(type.group);
      return ask({ method: "POST", path, namespace, body: withType(type, object), isReview }, signal);
    },

    replace(type, object, write, signal) {
      const { namespace, name = "" } = object.metadata;
      return ask(
        { method: "PUT", path: writePath(type, { namespace, name }, write), namespace, body: withType(type, object) },
        signal,
      );
    },

    patch(type, name, { type: patchType, body }, write, signal) {
      const contentType = patchContentTypes[patchType];
      const { namespace } = name;
      return ask({ method: "PATCH", path: writePath(type, name, write), namespace, body, contentType }, signal);
    },

    async delete(type, name, deleteOptions, signal) {
      const body = { apiVersion: "v1", kind: "DeleteOptions", ...deleteOptions };
      await ask({ method: "DELETE", path: resourcePath(type, name), namespace: name.namespace, body }, signal);
    },
  };
}

/** Adds apiVersion and kind, which the API requires, from the type. */
function withType(type: ResourceType, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

/** Items of built-in kinds have no apiVersion and kind in a list. */
function withTypes<T extends KubeObject>(type: ResourceType<T>, list: KubeList<T>): KubeList<T> {
  const { kind } = type;
  const apiVersion = apiVersionOf(type);
  // A server written in Go may encode an empty list as `null`.
  const items: readonly Stored<T>[] = list.items ?? [];
  return { ...list, items: items.map((item) => ({ apiVersion, kind, ...item })) };
}

function writePath(type: ResourceType, name: Partial<ObjectName>, options: WriteOptions = {}) {
  const { subresource, fieldManager, dryRun } = options;
  const where = { namespace: name.namespace, ...(name.name !== undefined && { name: name.name }) };
  return (
    resourcePath(type, { ...where, ...(subresource && { subresource }) }) +
    queryOf({ fieldManager, dryRun: dryRun ? "All" : undefined })
  );
}

function queryOf(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? "" : `?${query}`;
}
