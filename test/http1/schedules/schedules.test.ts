import { expect, it } from "vitest";
import { runSchedule } from "./schedule.ts";

// A failure has its seed: `node test/http1/schedules/replay.ts SEED` runs only that schedule.
const firstSeed = 1;
const schedules = 1_500;

it(`${schedules} schedules of clients and sandboxes leave every byte and every count right`, {
  timeout: 120_000,
}, async () => {
  const failed: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const { faults } = await runSchedule(seed);
    if (faults.length > 0) failed.push(`seed ${seed}: ${faults.join("; ")}`);
  }
  expect(failed).toEqual([]);
});
