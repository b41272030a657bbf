import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isLong } from "./journal-size.ts";
import { readWhole } from "./read-whole.ts";

const gibibyte = 1024 ** 3;

it("a file is read whole, in pieces that Node can read", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-read-"));
  const path = join(folder.path, "journal");
  expect(readWhole(path)).toBeUndefined();
  for (const text of ["", "abc", "abcdefg"]) {
    writeFileSync(path, text);
    expect(readWhole(path, 3)?.toString()).toBe(text);
  }
});

it("a journal is compacted before it has more than a gibibyte, however large the snapshot is", () => {
  const snapshotBytes = 1.2 * gibibyte;
  expect(isLong({ journalBytes: gibibyte, snapshotBytes, stateBytes: snapshotBytes })).toBe(true);
  expect(isLong({ journalBytes: gibibyte / 2, snapshotBytes, stateBytes: snapshotBytes })).toBe(false);
});
