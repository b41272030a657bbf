import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { HoldLimits, outsiderNumbers } from "../hold/hold-limits.ts";
import { createSlotMetrics } from "./slot-metrics.ts";

it("metrics report the slots in use and their limit, for outsiders and for others", async () => {
  const registry = new Registry();
  const numbers = { total: 100, perNamespace: 50, perSandbox: 20 };
  const others = new HoldLimits(numbers);
  const outsiders = new HoldLimits(outsiderNumbers(numbers));
  createSlotMetrics(registry, { others, outsiders });
  using _large = others.lend("a", "x", 40_000);
  const ofOutsider = outsiders.lend("a", "x");
  const text = await registry.metrics();
  expect(text).toContain('rouse_activator_held_slots{clients="others"} 5\n');
  expect(text).toContain('rouse_activator_held_slots{clients="outsiders"} 1\n');
  expect(text).toContain('rouse_activator_held_slots_limit{clients="others"} 100\n');
  expect(text).toContain('rouse_activator_held_slots_limit{clients="outsiders"} 25\n');
  ofOutsider[Symbol.dispose]();
  expect(await registry.metrics()).toContain('rouse_activator_held_slots{clients="outsiders"} 0\n');
});
