import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createLogger, silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { Removals } from "../../disk/removals.ts";
import { Directories } from "./directories.ts";
import { Volumes } from "./volumes.ts";

it("data without a claim is logged at the start, and stays", async () => {
  await using api = await openMemoryApi();
  const dataDir = mkdtempSync(join(tmpdir(), "rouse-test-"));
  const directories = new Directories(dataDir);
  const [lost, claimed, deleting] = [randomUUID(), randomUUID(), randomUUID()];
  for (const uid of [lost, claimed, deleting]) mkdirSync(directories.volume(uid), { recursive: true });
  writeFileSync(`${directories.volume(deleting)}.deleting`, "");
  const lines: string[] = [];
  const log = createLogger("test", "warn", { write: (line: string) => void lines.push(line) });
  try {
    await using removals = new Removals(silentLogger, systemClock);
    const volumes = new Volumes({ client: api.client, directories, removals, log });
    await volumes.finishRemovals(new Set([claimed]));
    await expect.poll(() => readdir(directories.volumes)).toEqual([lost, claimed].sort());
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { count: 1, names: [lost], msg: expect.stringContaining("data without a PersistentVolumeClaim") },
    ]);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
