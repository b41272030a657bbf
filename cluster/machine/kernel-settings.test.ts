import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadBridgeFilter, restoreKernelSettings } from "./kernel-settings.ts";

it("a setting whose kernel module is gone is not restored, and ends nothing", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-settings-"));
  const file = join(folder.path, "settings.json");
  writeFileSync(file, JSON.stringify({ "net/no-such-module/setting": "0" }));
  expect(() => restoreKernelSettings(file)).not.toThrow();
});

it("the kernel module for the traffic of bridges is loaded once its setting is missing", async () => {
  const loaded: string[] = [];
  const load = async (program: string, args: readonly string[]) => loaded.push([program, ...args].join(" ")) > 0;
  await loadBridgeFilter("/proc/sys/kernel/ostype", load);
  expect(loaded).toEqual([]);
  await loadBridgeFilter("/proc/sys/net/no-such-module/setting", load);
  expect(loaded).toEqual(["modprobe br_netfilter"]);
});
