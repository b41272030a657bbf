import { runSchedule } from "./schedule.ts";

/** The number of schedules that `npm run torture` runs. */
export const schedulesOfTorture = 1_500;

/** Runs the schedules of these seeds; returns the faults of each that failed. */
export async function faultsOfSchedules(firstSeed: number, count: number): Promise<readonly string[]> {
  const failed: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + count; seed += 1) {
    const { faults } = await runSchedule(seed);
    if (faults.length > 0) failed.push(`seed ${seed}: ${faults.join("; ")}`);
  }
  return failed;
}
