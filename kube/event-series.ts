import { randomBytes } from "node:crypto";
import type { Event } from "../api/core.ts";
import type { KubeObject } from "../api/meta.ts";
import { EventRateLimit } from "./event-rate-limit.ts";
import { MicroTimes, toMicroTime } from "./micro-time.ts";

/** Something that the user of an object should know. */
export interface Happening {
  readonly regarding: KubeObject;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

/** Who tells. */
export interface Reporter {
  readonly reportingController: string;
  /** Which replica: a Pod name or host name, at most 128 characters. */
  readonly reportingInstance: string;
}

export interface Moment {
  readonly now: Date;
  /** Monotonic. */
  readonly ticksMs: number;
}

/** What the API server does not know yet of one event: that it happened, or that it happened again. */
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
// The ecosystem's recorders, too, begin a new event when the last repeat is this long ago.
const seriesEndsAfterMs = 6 * 60_000;
const noteBytesMax = 1_024; // validation of events.k8s.io/v1
const nameCharactersMax = 253;

/** Remembers what happened lately, so that a repeat becomes a count on the event that is already there. */
export class EventSeries {
  readonly #reporter: Reporter;
  readonly #rateLimit = new EventRateLimit();
  // Whoever sorts events by their time sees them in the order in which they happened.
  readonly #eventTimes = new MicroTimes();
  // In the order of last use. What a full map pushes out is forgotten, also when it was not written yet.
  readonly #known = new Map<string, Series>();

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** Takes note. Undefined when the object has used up its allowance of new events. */
  add(
    happening: Happening,
    { now, ticksMs }: Moment,
  ): { readonly key: string; readonly repeated: boolean } | undefined {
    const key = seriesKey(happening);
    const lastObservedTime = toMicroTime(now);
    const earlier = this.#known.get(key);
    if (earlier && ticksMs - earlier.lastMs < seriesEndsAfterMs) {
      Object.assign(earlier, { count: earlier.count + 1, lastMs: ticksMs, lastObservedTime });
      this.#remember(key, earlier);
      return { key, repeated: true };
    }
    if (!this.#rateLimit.take(identityOf(happening.regarding), ticksMs)) return undefined;
    const event = makeEvent(happening, this.#reporter, this.#eventTimes.of(now));
    this.#remember(key, { event, count: 1, writtenCount: 0, lastMs: ticksMs, lastObservedTime });
    return { key, repeated: false };
  }

  /** What is to be written for this key; nothing when it is known to the server, or forgotten. */
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

  #remember(key: string, series: Series): void {
    this.#known.delete(key);
    this.#known.set(key, series);
    const [oldest] = this.#known.keys();
    if (this.#known.size > seriesMax && oldest !== undefined) this.#known.delete(oldest);
  }
}

function makeEvent({ regarding, type, reason, action, note }: Happening, reporter: Reporter, eventTime: string): Event {
  const { name = "", namespace, uid, resourceVersion } = regarding.metadata;
  const suffix = `.${randomBytes(8).toString("hex")}`;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: {
      name: name.slice(0, nameCharactersMax - suffix.length) + suffix,
      // Events about objects without a namespace live in this one; the API server insists.
      namespace: namespace ?? "default",
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

/** The longest beginning of a text that fits, without half a character at its end. */
function cutToBytes(text: string, bytesMax: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return text.slice(0, read);
}

const seriesKey = ({ regarding, type, reason, action, note }: Happening): string =>
  JSON.stringify([identityOf(regarding), type, reason, action, note]);

const identityOf = ({ kind, metadata }: KubeObject): string =>
  metadata.uid ?? `${kind}/${metadata.namespace}/${metadata.name}`;
