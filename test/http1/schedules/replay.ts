import { runSchedule } from "./schedule.ts";

// node test/http1/schedules/replay.ts SEED [COUNT]: runs one schedule, or COUNT from that seed on, and prints the failures.
const [first = 1, count = 1] = process.argv.slice(2).map(Number);
let failures = 0;
let steps = 0;
for (let seed = first; seed < first + count; seed += 1) {
  const verdict = await runSchedule(seed);
  steps += verdict.steps;
  if (verdict.faults.length === 0) continue;
  failures += 1;
  process.stdout.write(`seed ${seed}: ${verdict.faults.join("; ")}\n`);
}
process.stdout.write(`${count} schedules, ${steps} steps, ${failures} failed\n`);
if (failures > 0) process.exitCode = 1;
