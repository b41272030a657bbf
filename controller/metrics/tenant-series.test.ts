import { Counter, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { templateRefAnnotation } from "../../api/rules/keys.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { LifecycleMetrics } from "../sandbox/metrics/lifecycle-metrics.ts";
import { registerSandboxGauge } from "../sandbox/metrics/sandbox-gauge.ts";
import { TenantSeries } from "./tenant-series.ts";

const hourMs = 3_600_000;
const limits = { perNamespace: 2, all: 3 };

function aCounter() {
  const registry = new Registry();
  const clock = new FakeClock();
  const labelNames = ["namespace", "template", "result"];
  const counter = new Counter({ name: "happenings_total", help: "-", labelNames, registers: [registry] });
  const took = new Histogram({ name: "took_ms", help: "-", labelNames, buckets: [1], registers: [registry] });
  const series = new TenantSeries(clock, limits);
  return {
    clock,
    series,
    count(namespace: string, template: string, result = "fine") {
      const tenant = { namespace, named: { namespace, template } };
      series.inc(counter, tenant, { result });
      series.observe(took, tenant, { closed: { result }, value: 1 });
    },
    counted: async () =>
      (await registry.metrics()).match(/^happenings_total\{.*/gm)?.map((line) => line.replaceAll(/.*?"(.*?)"/g, "$1 ")),
    lines: async () => (await registry.metrics()).split("\n").length,
  };
}

describe("series by names that tenants choose", () => {
  it("are those of the names while there are few", async () => {
    const { count, counted } = aCounter();
    count("a", "x");
    count("a", "x", "bad");
    count("a", "x");
    count("b", "y");
    expect(await counted()).toEqual(["a x fine } 2", "a x bad } 1", "b y fine } 1"]);
  });

  it("are counted together beyond the share of a namespace, and leave room for others", async () => {
    const { count, counted } = aCounter();
    for (const template of ["x", "y", "z", "w"]) count("a", template);
    count("b", "x");
    expect(await counted()).toEqual(["a x fine } 1", "a y fine } 1", "other other fine } 2", "b x fine } 1"]);
  });

  it("are at most as many as the limit, for any number of names", async () => {
    const { count, series, lines } = aCounter();
    for (let at = 0; at < 10; at += 1) count(`n-${at}`, "x");
    const before = await lines();
    for (let at = 0; at < 10_000; at += 1) count(`n-${at}`, `t-${at}`);
    expect(await lines()).toBe(before);
    expect(series.size).toBe(limits.all);
  });

  it("are removed after an hour without a count if another needs the place", async () => {
    const { clock, count, counted } = aCounter();
    count("a", "x");
    count("b", "x");
    await clock.advance(hourMs / 2);
    count("b", "x");
    count("c", "x");
    await clock.advance(hourMs / 2);
    count("d", "y");
    expect(await counted()).toEqual(["b x fine } 2", "c x fine } 1", "d y fine } 1"]);
  });
});

describe("a series without a label for the namespace", () => {
  it("stays while one namespace counts in it, and ends with the last", async () => {
    const registry = new Registry();
    const clock = new FakeClock();
    const took = new Histogram({ name: "took_ms", help: "-", labelNames: ["template"], registers: [registry] });
    const series = new TenantSeries(clock, { perNamespace: 1, all: 9 });
    const see = (namespace: string, template: string) =>
      series.observe(took, { namespace, named: { template } }, { value: 1 });
    const counts = async () => (await registry.metrics()).match(/^took_ms_count\{.*/gm);
    see("a", "x");
    see("b", "x");
    await clock.advance(hourMs / 2);
    see("b", "x");
    await clock.advance(hourMs / 2);
    see("a", "y");
    expect(await counts()).toEqual(['took_ms_count{template="x"} 3', 'took_ms_count{template="y"} 1']);
    await clock.advance(hourMs);
    see("b", "z");
    expect(await counts()).toEqual(['took_ms_count{template="z"} 1']);
  });
});

describe("an annotation in place of a template's name", () => {
  const long = aSandbox({}, { annotations: { [templateRefAnnotation]: "x".repeat(250_000) } });

  it.each(["x".repeat(254), "a\nb", "Capital", "a_b", "../x", '"'])("is no label's value (%#)", async (text) => {
    const registry = new Registry();
    const sandbox = aSandbox({}, { annotations: { [templateRefAnnotation]: text } });
    registerSandboxGauge(registry, () => [sandbox]);
    expect(await registry.metrics()).toContain('sandbox_template="unknown"');
  });

  it("does not make the metrics of sandboxes that are gone grow", async () => {
    const registry = new Registry();
    const metrics = new LifecycleMetrics(registry, new FakeClock());
    const at = "2026-01-01T00:00:00Z";
    const expired = { type: "Ready", status: "False", message: "", lastTransitionTime: at } as const;
    const after = [{ ...expired, reason: "SandboxExpired" }];
    for (let sandbox = 0; sandbox < 200; sandbox += 1) {
      metrics.passed({ sandbox: long, before: [], after, podCreated: false, failures: [] });
    }
    const text = await registry.metrics();
    expect(text).toMatch(/agent_sandbox_expired_total\{.*\} 200/);
    expect(text.length).toBeLessThan(10_000);
  });
});

describe("the count of sandboxes at a scrape", () => {
  it("has a bound, whatever templates they name", async () => {
    const registry = new Registry();
    const sandboxes = Array.from({ length: 3_000 }, (_, at) =>
      aSandbox({}, { namespace: `n-${at % 40}`, annotations: { [templateRefAnnotation]: `t-${at}` } }),
    );
    registerSandboxGauge(registry, () => sandboxes);
    const series = (await registry.metrics()).match(/^agent_sandboxes\{.*/gm) ?? [];
    expect(series).toHaveLength(1_001);
    expect(series.at(-1)).toMatch(/sandbox_template="other".* 2000$/);
  });
});
