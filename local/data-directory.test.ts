import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../lib/log/log.ts";
import { DataDirectoryRefused, openDataDirectory } from "./data-directory.ts";
import { makeDrainCredentials, writeDrainFiles } from "./drain-credentials.ts";

const scratch = () => mkdtempDisposable(join(tmpdir(), "rouse-data-"));

describe("the data directory", () => {
  it("is refused if it has files of somebody else, and they stay", async () => {
    await using folder = await scratch();
    mkdirSync(join(folder.path, "logs"));
    expect(() => openDataDirectory(folder.path, silentLogger)).toThrow(DataDirectoryRefused);
    expect(readdirSync(folder.path)).toEqual(["logs"]);
  });

  it("may be new or empty, and is known at the next start", async () => {
    await using folder = await scratch();
    for (const path of [folder.path, join(folder.path, "new", "inside")]) {
      await using _first = openDataDirectory(path, silentLogger);
      mkdirSync(join(path, "logs"));
      await using second = openDataDirectory(path, silentLogger);
      expect(second.path).toBe(path);
    }
  });

  it("of a version that set no marker is known by its journal", async () => {
    await using folder = await scratch();
    mkdirSync(join(folder.path, "api"));
    writeFileSync(join(folder.path, "api", "journal"), "");
    await using _open = openDataDirectory(folder.path, silentLogger);
    expect(readdirSync(folder.path)).toEqual([".rouse-data", "api"]);
  });

  it("may be entered by its owner alone, also if it was there before, and so may its folders", async () => {
    await using folder = await scratch();
    const drain = join(folder.path, "drain");
    chmodSync(folder.path, 0o755);
    openDataDirectory(folder.path, silentLogger);
    mkdirSync(drain, { mode: 0o755 });
    writeDrainFiles(folder.path, await makeDrainCredentials());
    for (const path of [folder.path, drain]) expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  it("is removed at the end if it is temporary", async () => {
    const temporary = openDataDirectory(undefined, silentLogger);
    await temporary[Symbol.asyncDispose]();
    expect(() => readdirSync(temporary.path)).toThrow("ENOENT");
  });
});
