import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { Removals } from "./removals.ts";

/** A folder with files, and removals whose warnings are kept. */
function openRemovals(entriesMax = 1_000) {
  const folder = mkdtempSync(join(tmpdir(), "rouse-removals-"));
  for (let at = 0; at < 20; at += 1) writeFileSync(join(folder, `${at}`), "");
  const warnings: string[] = [];
  const clock = new FakeClock();
  const log = createLogger("a test", "warn", { write: (line) => warnings.push(line) });
  const removals = new Removals(log, clock, { limitMs: 60_000, entriesMax });
  return {
    folder,
    removals,
    warnings,
    clock,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

describe("removals in the background", () => {
  it("go on with the next folder after one that cannot be removed, and warn", async () => {
    using opened = openRemovals();
    const { folder, removals, warnings } = opened;
    // The kernel lets nobody remove anything there.
    void removals.remove("/proc/self/attr");
    await removals.remove(folder);
    expect(existsSync(folder)).toBe(false);
    expect(warnings.map((line) => JSON.parse(line).path)).toEqual(["/proc/self/attr"]);
  });

  it("try a folder again that a program still writes into, after the others and a pause that doubles", async () => {
    using opened = openRemovals(10); // it has twice as many files
    const { folder, removals, warnings, clock } = opened;
    const other = `${folder}-other`;
    mkdirSync(other);
    const first = removals.remove(folder);
    await removals.remove(other);
    await first;
    expect([existsSync(folder), existsSync(other)]).toEqual([true, false]);
    for (const pauseMs of [60_000, 120_000]) {
      const said = warnings.length;
      const left = readdirSync(folder).length;
      await clock.advance(pauseMs - 1);
      expect(readdirSync(folder).length).toBe(left);
      await clock.advance(1);
      await eventually(() => !existsSync(folder) || warnings.length > said);
    }
    expect(existsSync(folder)).toBe(false);
    expect(warnings.map((line) => JSON.parse(line))).toEqual(
      [60, 120].map((seconds) =>
        expect.objectContaining({
          path: folder,
          msg: `a folder is not removed yet; a program may still write into it; the removal continues in ${seconds} s`,
        }),
      ),
    );
    expect(clock.pending).toBe(0);
  });

  it("stop within a folder when they are disposed, without a warning, and begin no other", async () => {
    using opened = openRemovals();
    const { folder, removals, warnings } = opened;
    const other = `${folder}-other`;
    mkdirSync(other);
    void removals.remove(folder);
    void removals.remove(other);
    await removals[Symbol.asyncDispose]();
    await removals.remove(other);
    expect(existsSync(folder)).toBe(true);
    expect(existsSync(other)).toBe(true);
    expect(warnings).toEqual([]);
    rmSync(other, { recursive: true });
  });
});
