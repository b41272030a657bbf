import { mkdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { layoutOf } from "./layout.ts";
import { writeSettings } from "./settings.ts";

it("a second start of a cluster writes only the settings that changed", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "settings-"));
  const layout = layoutOf(folder.path);
  mkdirSync(layout.settings(""));
  writeSettings(layout, { same: "1", changed: "1" });
  for (const name of ["same", "changed"]) utimesSync(layout.settings(name), 1, 1);
  writeSettings(layout, { same: "1", changed: "2", more: "1" });
  const writtenAt = (name: string) => statSync(layout.settings(name)).mtimeMs;
  expect(writtenAt("same")).toBe(1_000);
  expect(writtenAt("changed")).toBeGreaterThan(1_000);
  expect(["same", "changed", "more"].map((name) => readFileSync(layout.settings(name), "utf8"))).toEqual([
    "1",
    "2",
    "1",
  ]);
});
