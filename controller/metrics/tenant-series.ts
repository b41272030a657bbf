import type { Counter, Histogram } from "prom-client";
import type { Clock } from "../../lib/time/clock.ts";

type Labels = Readonly<Record<string, string>>;

/** Label values that tenants choose: the names of a namespace's objects. */
export interface TenantLabels {
  /** The namespace whose limit they count toward. */
  readonly namespace: string;
  /** Label values that tenants choose, including the namespace if it is a label. */
  readonly named: Labels;
}

/** The label value for names beyond a limit. */
const otherName = "other";

export interface SeriesLimits {
  /** Maximum number of name sets with series per namespace. */
  readonly perNamespace: number;
  readonly all: number;
}

const seriesLimits: SeriesLimits = { perNamespace: 100, all: 1_000 };
// A name set without a count for 1 h makes room for another.
const idleMs = 3_600_000;

interface NameSet {
  readonly namespace: string;
  lastMs: number;
  /** Their labels, by the closed ones as JSON. */
  readonly series: Map<TenantMetric, Map<string, Labels>>;
}

/** A counter or histogram whose labels are partly tenants' names. */
type TenantMetric = Counter | Histogram;

/**
 * Counts by names that tenants choose, within a limit on the sets of names. Beyond the limit, names are counted as
 * `other`, until sets without a count for one hour make room. Prometheus handles a series that ends.
 */
export class TenantSeries {
  readonly #clock: Clock;
  readonly #limits: SeriesLimits;
  /** Least recently used first. */
  readonly #sets = new Map<string, NameSet>();
  readonly #setsOf = new Map<string, number>();
  /** How many sets have a series: without a label for the namespace, those of several namespaces share it. */
  readonly #users = new Map<TenantMetric, Map<string, number>>();

  constructor(clock: Clock, limits: SeriesLimits = seriesLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** `closed`: label values of a closed set. */
  inc(counter: Counter, tenant: TenantLabels, closed: Labels): void {
    counter.inc(this.#labels(counter, tenant, closed));
  }

  observe(
    histogram: Histogram,
    tenant: TenantLabels,
    { closed = {}, value }: { closed?: Labels; value: number },
  ): void {
    histogram.observe(this.#labels(histogram, tenant, closed), value);
  }

  /** Sets of names that there are series of. */
  get size(): number {
    return this.#sets.size;
  }

  #labels(metric: TenantMetric, { namespace, named }: TenantLabels, closed: Labels): Labels {
    const set = this.#admit(namespace, named);
    const labels = { ...(set ? named : withoutNames(named)), ...closed };
    if (set) this.#use(metric, set, labels, JSON.stringify(closed));
    return labels;
  }

  #use(metric: TenantMetric, { series }: NameSet, labels: Labels, closed: string): void {
    const ofMetric = series.get(metric) ?? new Map<string, Labels>();
    series.set(metric, ofMetric);
    if (ofMetric.has(closed)) return;
    ofMetric.set(closed, labels);
    const users = this.#users.get(metric) ?? new Map<string, number>();
    this.#users.set(metric, users);
    const key = seriesKey(labels);
    users.set(key, (users.get(key) ?? 0) + 1);
  }

  /** The last user of a series ends it. */
  #leave(metric: TenantMetric, labels: Labels): void {
    const users = this.#users.get(metric);
    const key = seriesKey(labels);
    const left = (users?.get(key) ?? 0) - 1;
    if (left > 0) users?.set(key, left);
    else {
      users?.delete(key);
      metric.remove(labels);
    }
  }

  #admit(namespace: string, named: Labels): NameSet | undefined {
    const key = JSON.stringify([namespace, named]);
    const nowMs = this.#clock.ticksMs();
    const known = this.#sets.get(key);
    if (known) {
      known.lastMs = nowMs;
      this.#sets.delete(key);
      this.#sets.set(key, known);
      return known;
    }
    if (this.#isFull(namespace)) this.#endIdle(nowMs);
    if (this.#isFull(namespace)) return undefined;
    const set: NameSet = { namespace, lastMs: nowMs, series: new Map() };
    this.#sets.set(key, set);
    this.#setsOf.set(namespace, (this.#setsOf.get(namespace) ?? 0) + 1);
    return set;
  }

  #isFull(namespace: string): boolean {
    const { perNamespace, all } = this.#limits;
    return this.#sets.size >= all || (this.#setsOf.get(namespace) ?? 0) >= perNamespace;
  }

  #endIdle(nowMs: number): void {
    for (const [key, { namespace, lastMs, series }] of this.#sets) {
      if (nowMs - lastMs < idleMs) return;
      for (const [metric, all] of series) for (const labels of all.values()) this.#leave(metric, labels);
      this.#sets.delete(key);
      const left = (this.#setsOf.get(namespace) ?? 0) - 1;
      if (left > 0) this.#setsOf.set(namespace, left);
      else this.#setsOf.delete(namespace);
    }
  }
}

/** Counts objects at one scrape by names that tenants choose; names beyond the limits are counted together. */
export class NamesAtAScrape {
  readonly #limits: SeriesLimits;
  readonly #names = new Map<string, Set<string>>();
  #count = 0;

  constructor(limits: SeriesLimits = seriesLimits) {
    this.#limits = limits;
  }

  labels({ namespace, named }: TenantLabels): Labels {
    const names = this.#names.get(namespace) ?? new Set();
    const key = JSON.stringify(named);
    if (names.has(key)) return named;
    if (names.size >= this.#limits.perNamespace || this.#count >= this.#limits.all) return withoutNames(named);
    this.#names.set(namespace, names.add(key));
    this.#count += 1;
    return named;
  }
}

const seriesKey = (labels: Labels): string => JSON.stringify(Object.entries(labels).toSorted());

const withoutNames = (named: Labels): Labels =>
  Object.fromEntries(Object.keys(named).map((label) => [label, otherName]));
