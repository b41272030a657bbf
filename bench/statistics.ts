export interface Spread {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** The nearest-rank percentiles of some measurements; zeros when there are none. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { count: sorted.length, p50: rank(0.5), p90: rank(0.9), p99: rank(0.99), max: sorted.at(-1) ?? 0 };
}

/** A Markdown table of spreads in milliseconds, one row for each name. */
export function spreadTable(rows: readonly (readonly [string, Spread])[]): string {
  const cell = (value: number) => value.toFixed(1).padStart(7);
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    `| ${"ms".padEnd(width)} |   n |     p50 |     p90 |     p99 |     max |`,
    `| ${"-".repeat(width)} | --: | ------: | ------: | ------: | ------: |`,
    ...rows.map(
      ([name, { count, p50, p90, p99, max }]) =>
        `| ${name.padEnd(width)} | ${String(count).padStart(3)} | ${[p50, p90, p99, max].map(cell).join(" | ")} |`,
    ),
    "",
  ].join("\n");
}
