import { existsSync, writeFileSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { silentLogger } from "../lib/log/log.ts";
import { systemClock } from "../lib/time/clock.ts";
import { parseLocalConfig } from "./config.ts";
import { runLocal } from "./run.ts";

/** Begins to run with the data directory and the ready file of this folder. */
function startIn(folder: string) {
  const stop = new AbortController();
  const paths = [`--data-dir=${join(folder, "data")}`, `--ready-file=${join(folder, "ready.json")}`];
  const config = parseLocalConfig([...paths, "--no-example", "--port=0", "--api-port=0"]);
  const dependencies = {
    ...{ clock: systemClock, log: silentLogger, registry: new Registry(), say: () => {}, environment: {} },
    examplesDirectory: folder,
  };
  return { stop, ended: runLocal(config, dependencies, stop.signal) };
}

it("the ready file tells of the run that has the data directory, and is gone with it", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-run-"));
  const file = join(folder.path, "ready.json");
  writeFileSync(file, "of a killed run");
  const first = startIn(folder.path);
  const text = () => readFile(file, "utf8").catch(() => "");
  await expect.poll(text, { timeout: 60_000 }).toContain("http");
  await expect(startIn(folder.path).ended).rejects.toThrow("uses it");
  expect(await text()).toContain("http");
  first.stop.abort();
  await first.ended;
  expect(existsSync(file)).toBe(false);
}, 90_000);
