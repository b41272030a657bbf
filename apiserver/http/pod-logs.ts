import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type Pod, podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { readTime } from "../../api/rules/timestamps.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { PodLogRefused, type PodLogRequest, type PodLogSource } from "../pod-log-source.ts";
import { badRequest, notFound, notImplemented, resourceName, tooManyRequests } from "../status-errors.ts";
import type { Storage } from "../storage/storage.ts";
import { type Exchange, type Handled, streaming } from "./exchange.ts";
import { readBoolean, readCount } from "./query.ts";

export interface PodLogOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly source: PodLogSource | undefined;
}

/** The maximum number of logs that are read at a time. Each takes two open files and some 200 KiB. */
export const logReadsMax = 250;
/** A client may stand still for as long: `kubectl logs` does while a pager shows a page. */
export const unreadLogMs = 30 * 60_000;

/** Answers `GET pods/NAME/log` with the log of the source. */
export class PodLogs {
  readonly #options: PodLogOptions;
  #open = 0;

  constructor(options: PodLogOptions) {
    this.#options = options;
  }

  /** @throws StatusError 429 when too many are open. */
  async serve(
    { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
    { query, response }: Exchange,
  ): Promise<Handled> {
    const { storage, clock, source } = this.#options;
    const pod = storage.get(resourceName(podType), namespace, name)?.object as Stored<Pod> | undefined;
    if (!pod) throw notFound(podType, name);
    if (!source) throw notImplemented("this API server has no access to the logs of containers");
    const asked = readLogRequest(pod, query, clock.now());
    if (this.#open >= logReadsMax) throw tooManyRequests("too many logs are being read, please try again later");
    this.#open += 1;
    try {
      await this.#stream(source, asked, response);
    } finally {
      this.#open -= 1;
    }
    return streaming;
  }

  async #stream(source: PodLogSource, asked: PodLogRequest, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    response.on("close", () => left.abort(new Error("the client left")));
    const chunks = source.read(asked, left.signal)[Symbol.asyncIterator]();
    try {
      // A refusal comes with the first chunk, while the status can still be set.
      const first = await chunks.next();
      response.writeHead(200, { "content-type": "text/plain", "cache-control": "no-cache, private" });
      response.flushHeaders();
      for (let next = first; !next.done; next = await chunks.next())
        await this.#write(response, next.value, left.signal);
      response.end();
    } catch (error) {
      if (error instanceof PodLogRefused) throw badRequest(error.message);
      if (!left.signal.aborted) throw error;
    } finally {
      await chunks.return?.();
    }
  }

  async #write(response: ServerResponse, chunk: string | Uint8Array, signal: AbortSignal): Promise<void> {
    if (response.write(chunk)) return;
    using _limit = this.#options.clock.after(unreadLogMs, () => void response.destroy());
    await once(response, "drain", { signal });
  }
}

function readLogRequest(pod: Stored<Pod>, query: URLSearchParams, now: Date): PodLogRequest {
  const sinceSeconds = readCount(query, "sinceSeconds");
  const sinceTime = query.get("sinceTime") ?? undefined;
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    throw badRequest("at most one of `sinceTime` or `sinceSeconds` may be specified");
  }
  return {
    pod,
    container: containerOf(pod, query.get("container")),
    previous: readBoolean(query, "previous"),
    follow: readBoolean(query, "follow"),
    timestamps: readBoolean(query, "timestamps"),
    tailLines: readCount(query, "tailLines"),
    since: sinceTime === undefined ? before(now, sinceSeconds) : timeOf(sinceTime),
    limitBytes: readCount(query, "limitBytes"),
  };
}

function before(now: Date, seconds: number | undefined): Date | undefined {
  return seconds === undefined ? undefined : new Date(Math.max(now.getTime() - seconds * 1_000, 0));
}

function timeOf(text: string): Date {
  const time = readTime(text);
  if (!time) throw badRequest(`parsing time "${text}": it is not in RFC 3339`);
  return time;
}

function containerOf(pod: Stored<Pod>, asked: string | null): string {
  const { name } = pod.metadata;
  const names = (pod.spec?.containers ?? []).map((container) => container.name);
  const initNames = (pod.spec?.initContainers ?? []).map((container) => container.name);
  if (asked) {
    if ([...names, ...initNames].includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  const [only, second] = names;
  if (only !== undefined && second === undefined) return only;
  const inits = initNames.length === 0 ? "" : ` or one of the init containers: [${initNames.join(" ")}]`;
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]${inits}`);
}
