import { randomBytes } from "node:crypto";
import type { Event } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { ownText } from "../../lib/data/own-text.ts";
import { SharedCache } from "../../lib/data/shared-cache.ts";
import { MicroTimes, toMicroTime } from "../micro-time.ts";
import { EventRateLimit } from "./event-rate-limit.ts";

/** Information for the user of an object. */
export interface NewEvent {
  readonly regarding: KubeObject;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

/** The component that reports events. */
export interface Reporter {
  readonly reportingController: string;
  /** Which replica: a Pod name or host name, at most 128 characters. */
  readonly reportingInstance: string;
}

export interface Moment {
  readonly now: Date;
  /** Monotonic milliseconds. */
  readonly ticksMs: number;
}

/** A pending write: a new event, or a repeat of one. */
export type EventWrite =
  | { readonly do: "create"; readonly event: Event; readonly count: number }
  | {
      readonly do: "patch";
      readonly event: Event;
      readonly series: NonNullable<Event["series"]>;
      readonly count: number;
    };

interface Series {
  readonly event: Event;
  count: number;
  writtenCount: number;
  lastMs: number;
  lastObservedTime: string;
}

const seriesMax = 1_000;
// As in the ecosystem's recorders, a repeat after this time is a new event.
const seriesEndsAfterMs = 6 * 60_000;
const noteBytesMax = 1_024; // the limit of events.k8s.io/v1
const nameCharactersMax = 253;

/** Remembers recent events, so that a repeat increases the count of the existing event. */
export class EventSeries {
  readonly #reporter: Reporter;
  readonly #rateLimit = new EventRateLimit();
  // Events sorted by time are in the order of their occurrence.
  readonly #eventTimes = new MicroTimes();
  // A full cache drops the oldest of the namespace that has most, even if it was not written yet.
  readonly #known: SharedCache<Series>;

  /** `onDropped` is called for each series that is dropped before it is written. */
  constructor(reporter: Reporter, onDropped: () => void = () => {}) {
    this.#reporter = reporter;
    this.#known = new SharedCache(seriesMax, ({ count, writtenCount }) => {
      if (count > writtenCount) onDropped();
    });
  }

  /** Adds an event. Undefined if the object has reached its rate limit for new events of this type. */
  add(newEvent: NewEvent, { now, ticksMs }: Moment): { readonly key: string; readonly repeated: boolean } | undefined {
    const key = seriesKey(newEvent);
    const namespace = namespaceOf(newEvent.regarding);
    const lastObservedTime = toMicroTime(now);
    const earlier = this.#known.get(key);
    if (earlier && ticksMs - earlier.lastMs < seriesEndsAfterMs) {
      Object.assign(earlier, { count: earlier.count + 1, lastMs: ticksMs, lastObservedTime });
      this.#known.set(key, namespace, earlier);
      return { key, repeated: true };
    }
    // What goes well, as each sleep of a sandbox, must not hide what went wrong.
    const limited = `${newEvent.type} ${identityOf(newEvent.regarding)}`;
    if (!this.#rateLimit.take(limited, namespace, ticksMs)) return undefined;
    const event = makeEvent(newEvent, this.#reporter, this.#eventTimes.of(now));
    this.#known.set(key, namespace, { event, count: 1, writtenCount: 0, lastMs: ticksMs, lastObservedTime });
    return { key, repeated: false };
  }

  /** The next write for this key; undefined if the server is up to date, or the key was dropped. */
  next(key: string): EventWrite | undefined {
    const series = this.#known.get(key);
    if (!series || series.count === series.writtenCount) return undefined;
    const { event, count, lastObservedTime } = series;
    if (series.writtenCount === 0) return { do: "create", event, count: 1 };
    return { do: "patch", event, series: { count, lastObservedTime }, count };
  }

  written(key: string, { event, count }: EventWrite): void {
    const series = this.#known.get(key);
    if (series?.event === event) series.writtenCount = count;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  unwritten(): readonly string[] {
    return [...this.#known].filter(([, series]) => series.count > series.writtenCount).map(([key]) => key);
  }
}

function makeEvent({ regarding, type, reason, action, note }: NewEvent, reporter: Reporter, eventTime: string): Event {
  const { name = "", namespace, uid, resourceVersion } = regarding.metadata;
  const suffix = `.${randomBytes(8).toString("hex")}`;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: {
      // A truncated name may end in a character that is invalid at the end of a DNS label.
      name: name.slice(0, nameCharactersMax - suffix.length).replace(/[-.]+$/, "") + suffix,
      namespace: namespaceOf(regarding),
    },
    eventTime,
    ...reporter,
    type,
    reason,
    action,
    note: cutToBytes(note, noteBytesMax),
    regarding: {
      ...(regarding.apiVersion !== undefined && { apiVersion: regarding.apiVersion }),
      ...(regarding.kind !== undefined && { kind: regarding.kind }),
      ...(namespace !== undefined && { namespace }),
      name,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  };
}

/** The longest prefix of a text that fits, without a partial character at its end, and without the memory of the whole text. */
function cutToBytes(text: string, bytesMax: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return read < text.length ? ownText(text.slice(0, read)) : text;
}

/**
 * Only the part of the note that the event will have: a server's message may have half a megabyte, and a thousand
 * series are kept. The namespace comes first: the namespaces take turns in the queue by it.
 */
const seriesKey = ({ regarding, type, reason, action, note }: NewEvent): string =>
  `${namespaceOf(regarding)}/${JSON.stringify([identityOf(regarding), type, reason, action, note.slice(0, noteBytesMax)])}`;

/** Events about objects without a namespace are in this one, as the API server requires. */
const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? "default";

const identityOf = ({ kind, metadata }: KubeObject): string =>
  metadata.uid ?? `${kind}/${metadata.namespace}/${metadata.name}`;
