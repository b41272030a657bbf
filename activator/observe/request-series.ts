import { Counter, Histogram, type MetricObjectWithValues, type MetricValueWithName, type Registry } from "prom-client";

/** Upper bounds in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];

type Label = "method" | "code" | "sandbox_namespace";
const labelNames: readonly Label[] = ["method", "code", "sandbox_namespace"];

/** All requests that had the same labels. */
interface Series {
  readonly labels: { readonly method: string; readonly code: number; readonly sandbox_namespace: string };
  /** One for each bound, and one for what is above all. */
  readonly counts: number[];
  seconds: number;
}

/**
 * How many requests ended and how long they took. Every request ends here, so it counts in arrays that are found by
 * three look-ups, and makes metrics of them when somebody asks; a metric library finds a series by hashing its labels.
 */
export class RequestSeries {
  readonly #series = new Map<string, Map<string, Map<number, Series>>>();

  constructor(registry: Registry) {
    const registers = [registry];
    const all = () => this.#all();
    new Counter({
      ...{ name: "sandbox_router_requests_total", help: "Requests that ended, by method, status code and namespace." },
      ...{ labelNames, registers },
      collect() {
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
    return this.#series.get(namespace)?.get(method)?.get(code) ?? this.#add(namespace, method, code);
  }

  #add(namespace: string, method: string, code: number): Series {
    const methods = this.#series.get(namespace) ?? new Map<string, Map<number, Series>>();
    const codes = methods.get(method) ?? new Map<number, Series>();
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
  help: "Time from the request's head to the end of the response; of an upgrade, its whole life.",
};

/** A histogram whose observations are kept elsewhere. */
class SeriesHistogram extends Histogram<Label> {
  readonly #all: () => Iterable<Series>;
  /** Says all that a histogram says besides its values. */
  readonly #empty = new Histogram<Label>({ ...durations, registers: [] });

  constructor(registry: Registry, all: () => Iterable<Series>) {
    super({ ...durations, labelNames, buckets: bounds, registers: [registry] });
    this.#all = all;
  }

  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
    return { ...(await this.#empty.get()), values: [...this.#all()].flatMap(valuesOf) };
  }

  /** What the library asks instead of `get` when it writes the text format. */
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
