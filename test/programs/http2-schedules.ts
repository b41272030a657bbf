import { runBatch } from "../malformed/schedules/run-schedules.ts";
import { startWatchdog } from "../malformed/schedules/watchdog.ts";

// node test/programs/http2-schedules.ts [SEED] [BATCHES] [SCHEDULES]: random schedules of clients and sandboxes against the front for HTTP/2.
// Each batch has a seed of its own, one more than that of the batch before. Prints how many batches ended well.

const [seed = 1, batches = 100, schedules = 40] = process.argv.slice(2).map(Number);
const standstillMs = 3_000;
const rssBytesMax = 1.5 * 2 ** 30;

for (let batch = seed; batch < seed + batches; batch += 1) {
  await using watchdog = startWatchdog(`seed ${batch}`, standstillMs, rssBytesMax);
  try {
    await runBatch(batch, schedules, (operation) => watchdog.note(operation));
  } catch (error) {
    throw new Error(`seed ${batch}, after:\n${watchdog.last()}`, { cause: error });
  }
}
process.stdout.write(`${batches} batches of ${schedules} schedules\n`);
