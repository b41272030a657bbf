import { randomUUID } from "node:crypto";
import { chownSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { lockDataDir } from "../apiserver/storage/data-dir-lock.ts";
import { createLogger, silentLogger } from "../lib/log/log.ts";
import { systemClock } from "../lib/time/clock.ts";
import { endAbandonedRuns } from "./abandoned-runs.ts";
import { openDataDirectory, temporaryMarker, temporaryPrefix } from "./data-directory.ts";
import { Containment } from "./kubelet/process/containment.ts";
import { ProcessRecords } from "./kubelet/process/process-records.ts";

const tools = { clock: systemClock, log: silentLogger };
const scratch = () => mkdtempDisposable(join(tmpdir(), "rouse-abandoned-"));

/** A folder of a run that is over. */
function makeFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, temporaryPrefix));
  writeFileSync(join(folder, temporaryMarker), "");
  mkdirSync(join(folder, "logs"));
  return folder;
}

describe("the sweep of abandoned runs", () => {
  it("removes the folders of runs that are over, also if such a run was killed with its lock", async () => {
    await using parent = await scratch();
    const folder = makeFolder(parent.path);
    writeFileSync(join(folder, "lock"), "4194303 1");
    makeFolder(parent.path);
    await using sweep = await endAbandonedRuns(tools, parent.path);
    await sweep.removed;
    expect(readdirSync(parent.path)).toEqual([]);
  });

  it("leaves alone runs that run, links, and folders that no ephemeral run made", async () => {
    await using parent = await scratch();
    using _ = lockDataDir(makeFolder(parent.path));
    mkdirSync(join(parent.path, `${temporaryPrefix}notes`));
    const elsewhere = join(parent.path, "elsewhere");
    mkdirSync(elsewhere);
    symlinkSync(makeFolder(elsewhere), join(parent.path, `${temporaryPrefix}link`));
    const before = readdirSync(parent.path, { recursive: true });
    await using sweep = await endAbandonedRuns(tools, parent.path);
    await sweep.removed;
    expect(readdirSync(parent.path, { recursive: true })).toEqual(before);
  });

  it.runIf(process.getuid?.() === 0)("leaves alone what another user made", async () => {
    await using parent = await scratch();
    chownSync(makeFolder(parent.path), 65_534, 65_534);
    await using sweep = await endAbandonedRuns(tools, parent.path);
    await sweep.removed;
    expect(readdirSync(parent.path)).toHaveLength(1);
  });

  it("keeps a folder whose processes the system did not end, for the next start, and says so", async () => {
    const lines: string[] = [];
    const log = createLogger("test", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
    await using parent = await scratch();
    const folder = makeFolder(parent.path);
    const records = await ProcessRecords.open(join(folder, "processes"));
    records.plan(`${randomUUID()}/main`, { program: "sleep", mark: randomUUID() });
    const end = vi.spyOn(Containment.prototype, "end").mockResolvedValueOnce({ killed: 1, left: [4_194_303] });
    for (const left of [1, 0]) {
      await using sweep = await endAbandonedRuns({ ...tools, log }, parent.path);
      await sweep.removed;
      expect(readdirSync(parent.path)).toHaveLength(left);
    }
    expect(end).toHaveBeenCalledTimes(2);
    const killed = "an earlier ephemeral run was killed";
    expect(lines.filter((line) => line.startsWith(killed))).toEqual([
      `${killed}; some of its processes cannot be ended; its folder stays until the next start`,
      `${killed}; its processes have ended; its folder will be removed`,
    ]);
    end.mockRestore();
  });

  it("does not end the start of local mode if there is no such folder", async () => {
    await using sweep = await endAbandonedRuns(tools, "/nowhere");
    expect(await sweep.removed).toEqual([]);
  });

  it("removes nothing of a temporary folder that is in use", async () => {
    await using parent = await scratch();
    vi.stubEnv("TMPDIR", parent.path);
    await using data = openDataDirectory(undefined, silentLogger);
    vi.unstubAllEnvs();
    await using sweep = await endAbandonedRuns(tools, parent.path);
    await sweep.removed;
    expect(readdirSync(data.path)).toContain(temporaryMarker);
  });
});
