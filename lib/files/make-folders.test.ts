import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolders, makeFoldersSync } from "./make-folders.ts";

const inFolder = () => mkdtempDisposable(join(tmpdir(), "rouse-folders-"));

describe.each([
  ["makeFolders", makeFolders],
  ["makeFoldersSync", async (path: string, mode?: number) => makeFoldersSync(path, mode)],
])("%s", (_, make) => {
  it("creates a folder and its parents, all with the mode", async () => {
    await using folder = await inFolder();
    await make(join(folder.path, "a/b/c"), 0o700);
    for (const made of ["a", "a/b", "a/b/c"]) expect(statSync(join(folder.path, made)).mode & 0o777).toBe(0o700);
  });

  it("leaves what is there, also below a link", async () => {
    await using folder = await inFolder();
    mkdirSync(join(folder.path, "there"));
    symlinkSync("there", join(folder.path, "link"));
    await make(join(folder.path, "link/a"));
    await make(join(folder.path, "link/a"));
    await make("/");
    expect(statSync(join(folder.path, "there/a")).isDirectory()).toBe(true);
  });

  // Node's own recursive mkdir never settles there.
  it.runIf(existsSync("/proc/self"))(
    "fails where the system creates nothing, although the parent is there",
    async () => {
      await expect(make("/proc/nope/a/b")).rejects.toMatchObject({ code: "ENOENT" });
    },
  );

  it("fails where a file or a link to nothing is", async () => {
    await using folder = await inFolder();
    writeFileSync(join(folder.path, "file"), "");
    symlinkSync("gone", join(folder.path, "dangling"));
    await expect(make(join(folder.path, "file"))).rejects.toMatchObject({ code: "EEXIST" });
    await expect(make(join(folder.path, "file/a"))).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(make(join(folder.path, "dangling/a"))).rejects.toMatchObject({ code: "EEXIST" });
  });
});
