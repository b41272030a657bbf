import { Counter, Histogram, type MetricObjectWithValues, type MetricValueWithName, type Registry } from "prom-client";
import { isRegistered, statusClass } from "./labels.ts";
import { type NamespaceLabels, noNamespace } from "./namespace-labels.ts";

/** Upper bounds in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];

type Label = "method" | "code" | "sandbox_namespace";
const labelNames: readonly Label[] = ["method", "code", "sandbox_namespace"];

/** Beyond this number of series in a namespace, further requests are labelled by the class of their status alone. */
const ofNamespaceMax = 100;
/** The same for all namespaces together. A scrape then has about 10 MB and blocks the event loop for half a second. */
const inAllMax = 5_000;

/** The requests with equal labels. */
interface Series {
  readonly labels: { readonly method: string; readonly code: number | string; readonly sandbox_namespace: string };
  /** A count for each bound, and one above all bounds. */
  readonly counts: number[];
  seconds: number;
}

/**
 * Counts requests and their durations. Every request ends here, so counts are kept in arrays that three lookups find, and
 * become metrics at a scrape; a metric library hashes labels to find a series.
 */
export class RequestSeries {
  readonly #series = new Map<string, Map<string, Map<number | string, Series>>>();
  readonly #counts = new Map<string, number>();
  readonly #namespaces: NamespaceLabels;
  #total = 0;

  constructor(registry: Registry, namespaces: NamespaceLabels) {
    this.#namespaces = namespaces;
    namespaces.onDropped((namespace) => this.#drop(namespace));
    const registers = [registry];
    const all = () => this.#all();
    new Counter({
      ...{
        name: "sandbox_router_requests_total",
        help: "Requests that ended, by method, status code and namespace. Unusual methods count as other, unusual codes by their class, such as 2xx.",
      },
      ...{ labelNames, registers },
      collect() {
        namespaces.dropGone();
        this.reset();
        for (const { labels, counts } of all()) this.inc(labels, sum(counts));
      },
    });
    new SeriesHistogram(registry, all);
  }

  ended(method: string, code: number, namespace: string, seconds: number): void {
    const series = this.#of(namespace, method, code);
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] as number)) at += 1;
    series.counts[at] = (series.counts[at] as number) + 1;
    series.seconds += seconds;
  }

  #of(namespace: string, method: string, code: number): Series {
    return this.#series.get(namespace)?.get(method)?.get(code) ?? this.#bounded(namespace, method, code);
  }

  /** A sandbox chooses its status and a client its method, so the number of their series is bounded. */
  #bounded(asked: string, method: string, status: number): Series {
    const namespace = this.#namespaces.of(asked);
    const code = isRegistered(status) ? status : statusClass(status);
    const known = this.#series.get(namespace)?.get(method)?.get(code);
    if (known) return known;
    if (this.#total >= inAllMax) return this.#lumped(noNamespace, status);
    const isFull = (this.#counts.get(namespace) ?? 0) >= ofNamespaceMax;
    return isFull ? this.#lumped(namespace, status) : this.#add(namespace, method, code);
  }

  #lumped(namespace: string, status: number): Series {
    const code = statusClass(status);
    return this.#series.get(namespace)?.get("other")?.get(code) ?? this.#add(namespace, "other", code);
  }

  #drop(namespace: string): void {
    this.#series.delete(namespace);
    this.#total -= this.#counts.get(namespace) ?? 0;
    this.#counts.delete(namespace);
  }

  #add(namespace: string, method: string, code: number | string): Series {
    this.#total += 1;
    this.#counts.set(namespace, (this.#counts.get(namespace) ?? 0) + 1);
    const methods = this.#series.get(namespace) ?? new Map<string, Map<number, Series>>();
    const codes = methods.get(method) ?? new Map<number | string, Series>();
    const counts = new Array<number>(bounds.length + 1).fill(0);
    const series: Series = { labels: { method, code, sandbox_namespace: namespace }, counts, seconds: 0 };
    this.#series.set(namespace, methods.set(method, codes.set(code, series)));
    return series;
  }

  *#all(): Iterable<Series> {
    for (const methods of this.#series.values()) for (const codes of methods.values()) yield* codes.values();
  }
}

const durations = {
  name: "sandbox_router_request_duration_seconds",
  help: "Time from the request head to the end of the response; for an upgrade, to the end of its connection.",
};

/** A histogram whose observations are kept elsewhere. */
class SeriesHistogram extends Histogram<Label> {
  readonly #all: () => Iterable<Series>;
  /** Describes the histogram. */
  readonly #empty = new Histogram<Label>({ ...durations, registers: [] });

  constructor(registry: Registry, all: () => Iterable<Series>) {
    super({ ...durations, labelNames, buckets: bounds, registers: [registry] });
    this.#all = all;
  }

  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
    return { ...(await this.#empty.get()), values: [...this.#all()].flatMap(valuesOf) };
  }

  /** Called by the library in place of `get` for the text format. */
  getForPromString(): Promise<unknown> {
    return this.get();
  }
}

function valuesOf({ labels, counts, seconds }: Series): MetricValueWithName<Label>[] {
  const { name } = durations;
  const buckets = [...bounds, "+Inf"].map((le, at) => ({
    metricName: `${name}_bucket`,
    labels: { le, ...labels },
    value: sum(counts.slice(0, at + 1)),
  }));
  const total = { metricName: `${name}_count`, labels, value: sum(counts) };
  return [...buckets, { metricName: `${name}_sum`, labels, value: seconds }, total];
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
