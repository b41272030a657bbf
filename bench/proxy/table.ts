export interface Measurement {
  readonly scenario: string;
  readonly proxy: string;
  readonly perSecond?: number;
  /** For each second of CPU time that the proxy used. */
  readonly perCpuSecond?: number;
  /** Microseconds of CPU time for each, and the kernel's part of them. */
  readonly cpuUs?: number;
  readonly kernelUs?: number;
  /** Milliseconds. */
  readonly p50?: number;
  readonly p99?: number;
  /** For held requests: memory for each, time until all were answered, longest time for which the event loop was blocked. */
  readonly kibibytesEach?: number;
  readonly releasedMs?: number;
  readonly blockedMs?: number;
  readonly failures: number;
}

type Figure =
  | "perSecond"
  | "perCpuSecond"
  | "cpuUs"
  | "kernelUs"
  | "p50"
  | "p99"
  | "kibibytesEach"
  | "releasedMs"
  | "blockedMs";

/** A Markdown table of medians over the rounds: requests per second and per CPU second, and CPU time for each. */
export function report(measurements: readonly Measurement[]): string {
  const proxies = [...new Set(measurements.map(({ proxy }) => proxy))];
  const scenarios = [...new Set(measurements.map(({ scenario }) => scenario))];
  const rows = scenarios.flatMap((scenario) => {
    const of = (proxy: string) => measurements.filter((each) => each.scenario === scenario && each.proxy === proxy);
    const row = (what: string, cell: (of: readonly Measurement[]) => string) =>
      `| ${scenario}${what} | ${proxies.map((proxy) => cell(of(proxy))).join(" | ")} |`;
    const has = (key: Figure) => measurements.some((each) => each.scenario === scenario && each[key] !== undefined);
    if (has("kibibytesEach")) {
      return [
        row(", KiB each", (all) => fixed(medianOf(all, "kibibytesEach"), 1)),
        row(", released within ms", (all) => withFailures(all, fixed(medianOf(all, "releasedMs"), 0))),
        row(", loop blocked for ms", (all) => fixed(medianOf(all, "blockedMs"), 0)),
      ];
    }
    if (has("p50")) {
      return [
        row(", p50 ms", (all) => withFailures(all, fixed(medianOf(all, "p50"), 2))),
        row(", p99 ms", (all) => fixed(medianOf(all, "p99"), 2)),
      ];
    }
    return [
      row(", per second", (all) => withFailures(all, whole(medianOf(all, "perSecond")))),
      row(", per CPU second", (all) => whole(medianOf(all, "perCpuSecond"))),
      row(", CPU µs each (kernel)", (all) =>
        all.length > 0 ? `${fixed(medianOf(all, "cpuUs"), 1)} (${fixed(medianOf(all, "kernelUs"), 1)})` : "–",
      ),
    ];
  });
  return [`| | ${proxies.join(" | ")} |`, `| --- |${proxies.map(() => " ---: |").join("")}`, ...rows, ""].join("\n");
}

/** A dash if the proxy has no such figure. */
const fixed = (value: number, digits: number) => (Number.isNaN(value) ? "–" : value.toFixed(digits));

const whole = (value: number) => (Number.isNaN(value) ? "–" : Math.round(value).toLocaleString("en"));

function withFailures(measurements: readonly Measurement[], text: string): string {
  const failures = measurements.reduce((sum, each) => sum + each.failures, 0);
  return failures === 0 ? text : `${text} (${failures} failed)`;
}

function medianOf(measurements: readonly Measurement[], key: Figure): number {
  const values = measurements.map((each) => each[key] ?? Number.NaN).sort((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}
