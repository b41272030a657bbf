import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Condition } from "../../../api/kinds/meta.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aSandbox } from "../../../test/support/builders/builders.ts";
import { SleepTimeMetrics } from "./sleep-time-metrics.ts";

const suspended = (status: "True" | "False", lastTransitionTime: string): readonly Condition[] => [
  { type: "Suspended", status, reason: "", message: "", lastTransitionTime },
];

const toNoon = ["2026-01-01T12:00:00Z", "2026-01-01T12:00:00,0Z"];

it.each(toNoon)("measures how long a sandbox was asleep and awake, at the end of each: %s", async (since) => {
  const registry = new Registry();
  const clock = new FakeClock("2026-01-01T12:00:00Z");
  const metrics = new SleepTimeMetrics(registry, clock);
  const sandbox = aSandbox({}, { creationTimestamp: "2026-01-01T11:00:00Z" });
  const common = { sandbox, podCreated: false, failures: [] };
  const asleep = suspended("True", since);
  metrics.passed({ ...common, before: [], after: asleep });
  await clock.advance(60_000);
  metrics.passed({ ...common, before: asleep, after: asleep });
  const awake = suspended("False", "2026-01-01T12:01:00Z");
  metrics.passed({ ...common, before: asleep, after: awake });
  const page = await registry.metrics();
  expect(page).toContain("rouse_sandbox_awake_seconds_sum 3600");
  expect(page).toContain("rouse_sandbox_asleep_seconds_sum 60");
  expect(page).toContain("rouse_sandbox_asleep_seconds_count 1");
});

it("does not count a phase whose start cannot be read", async () => {
  const registry = new Registry();
  const metrics = new SleepTimeMetrics(registry, new FakeClock("2026-01-01T12:00:00Z"));
  const common = { sandbox: aSandbox(), podCreated: false, failures: [] };
  const [before, after] = [suspended("True", "2026-01-01T12:00:00x5Z"), suspended("False", "2026-01-01T12:01:00Z")];
  metrics.passed({ ...common, before, after });
  expect(await registry.metrics()).toContain("rouse_sandbox_asleep_seconds_count 0");
});
