import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { restoreKernelSettings } from "./kernel-settings.ts";

it("a setting whose kernel module is gone is not restored, and ends nothing", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-settings-"));
  const file = join(folder.path, "settings.json");
  writeFileSync(file, JSON.stringify({ "net/no-such-module/setting": "0" }));
  expect(() => restoreKernelSettings(file)).not.toThrow();
});
