import { expect, it } from "vitest";
import { faultsOfSchedules } from "./run-schedules.ts";

// A failure has its seed: `node test/http1/schedules/replay.ts SEED` runs only that schedule. `npm run torture` runs more.
const schedules = 500;

it(`${schedules} schedules of clients and sandboxes leave every byte and every count right`, {
  timeout: 120_000,
}, async () => {
  expect(await faultsOfSchedules(1, schedules)).toEqual([]);
});
