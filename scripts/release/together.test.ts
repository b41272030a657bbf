import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "./temporary-folder.ts";
import { together } from "./together.ts";

it("steps that run together have all ended when the failure of one is reported", async () => {
  const slow = Promise.withResolvers<string>();
  const seen: string[] = [];
  const both = together([Promise.reject(new Error("no disk")), slow.promise.then((word) => seen.push(word))]);
  const reported = both.catch((error: Error) => seen.push(error.message));
  await new Promise(setImmediate);
  slow.resolve("the other step ended");
  await reported;
  expect(seen).toEqual(["the other step ended", "no disk"]);
});

it("a temporary folder is gone with its contents once it is not used any more", () => {
  let path = "";
  {
    using folder = temporaryFolder("test");
    path = folder.path;
    writeFileSync(join(path, "file"), "text");
    expect(existsSync(path)).toBe(true);
  }
  expect(existsSync(path)).toBe(false);
});

it("a release that a signal ends in the middle leaves no folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rouse-test-"));
  const out = join(folder, "0.1.0");
  // As the program does at a signal, once the folder is there.
  const program = `
    import { existsSync } from "node:fs";
    import { makeRelease } from ${JSON.stringify(new URL("./make-release.ts", import.meta.url).href)};
    const out = ${JSON.stringify(out)};
    const tools = { run: async () => "", crane: "/bin/false", helm: "helm", say() {} };
    makeRelease({ inputs: {}, registry: "registry.example.com", out }, tools).catch(() => {});
    process.exit(existsSync(out) ? 1 : 2);
  `;
  try {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
    expect(await once(child, "exit")).toEqual([1, null]);
    expect(existsSync(out)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
