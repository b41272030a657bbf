import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createLogger } from "../../lib/log/log.ts";
import { Removals } from "./removals.ts";

/** A folder with files, and removals whose warnings are kept. */
function openRemovals() {
  const folder = mkdtempSync(join(tmpdir(), "rouse-removals-"));
  for (let at = 0; at < 20; at += 1) writeFileSync(join(folder, `${at}`), "");
  const warnings: string[] = [];
  const removals = new Removals(createLogger("a test", "warn", { write: (line) => warnings.push(line) }));
  return { folder, removals, warnings, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
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
