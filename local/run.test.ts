import { existsSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { silentLogger } from "../lib/log/log.ts";
import { systemClock } from "../lib/time/clock.ts";
import { parseLocalConfig } from "./config.ts";
import { runLocal } from "./run.ts";

it("the ready file of an earlier run is removed before anything else", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-run-"));
  const ready = join(folder.path, "ready.json");
  writeFileSync(ready, "{}");
  // The folder is not one of local mode, so that the start ends here.
  writeFileSync(join(folder.path, "foreign"), "");
  const config = parseLocalConfig([`--data-dir=${folder.path}`, `--ready-file=${ready}`]);
  const dependencies = {
    ...{ clock: systemClock, log: silentLogger, registry: new Registry(), say: () => {}, environment: {} },
    examplesDirectory: folder.path,
  };
  await expect(runLocal(config, dependencies, new AbortController().signal)).rejects.toThrow("choose an empty");
  expect(existsSync(ready)).toBe(false);
});
