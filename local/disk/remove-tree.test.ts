import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { chmod, chown, mkdtempDisposable } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { mountPointsOf } from "./mount-points.ts";
import { removeOrWarn } from "./removals.ts";
import { removeTree } from "./remove-tree.ts";

const run = promisify(execFile);
const newFolder = (): string => mkdtempSync(join(tmpdir(), "rouse-tree-"));

/** Permissions bind nobody who is root. So a process of another user makes the folder, and removes it again. */
async function removeAsUser(makeFolder: string): Promise<string> {
  await using home = await mkdtempDisposable(join(tmpdir(), "rouse-user-"));
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  if (user.uid !== undefined) await chown(home.path, user.uid, user.gid);
  await chmod(home.path, 0o755);
  const script = `
    const { removeTree } = await import(${JSON.stringify(join(import.meta.dirname, "remove-tree.ts"))});
    const left = await removeTree("tree");
    console.log(left === undefined ? "removed" : left.error.message);`;
  const options = { cwd: home.path, ...user };
  await run("sh", ["-ec", `mkdir tree && cd tree && ${makeFolder}`], options);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], options);
  const left = readdirSync(home.path);
  await run("sh", ["-c", "chmod -R u+rwx tree; rm -rf tree"], options);
  return left.length === 0 ? stdout.trim() : `left: ${left.join()}`;
}

/** At each step of the removal, a program makes a folder in the one that it made before, and time passes. */
class BusyProgram extends FakeClock {
  steps = 0;
  readonly #stepMs: number;
  #deepest: string;

  constructor(folder: string, stepMs: number) {
    super();
    this.#deepest = folder;
    this.#stepMs = stepMs;
  }

  override ticksMs(): number {
    this.steps += 1;
    this.#deepest = join(this.#deepest, "d");
    mkdirSync(this.#deepest);
    return this.steps * this.#stepMs;
  }
}

describe("the removal of a folder into which a program writes faster than it is emptied", () => {
  it.each([
    { what: "time", limits: { limitMs: 60_000, entriesMax: 1_000 }, stepMs: 600, said: "60 s", steps: 101 },
    { what: "number of files", limits: { limitMs: 60_000, entriesMax: 100 }, stepMs: 1, said: "100 files", steps: 101 },
  ])("ends by its limit in $what, and the rest is removed later", async ({ limits, stepMs, said, steps }) => {
    const folder = newFolder();
    const clock = new BusyProgram(folder, stepMs);
    const left = await removeTree(folder, { clock, limits });
    expect(left).toMatchObject({ mayGoOn: true, error: { name: "RemovalUnfinished" } });
    expect(String(left?.error)).toContain(said);
    expect(clock.steps).toBe(steps);
    expect(await removeTree(folder)).toBeUndefined();
    expect(() => readdirSync(folder)).toThrow("ENOENT");
  });
});

/** At one step of the removal, a program puts a link into the place of a folder. */
class SwappingProgram extends FakeClock {
  steps = 0;
  readonly #swapAt: number;
  readonly #swap: () => void;

  constructor(swapAt: number, swap: () => void) {
    super();
    this.#swapAt = swapAt;
    this.#swap = swap;
  }

  override ticksMs(): number {
    if (this.steps === this.#swapAt) this.#swap();
    this.steps += 1;
    return 0;
  }
}

describe("the removal of a folder while a program puts a link into the place of a folder in it", () => {
  it("never removes what the link leads to", async () => {
    let steps = 1;
    for (let swapAt = 0; swapAt < steps; swapAt += 1) {
      await using home = await mkdtempDisposable(join(tmpdir(), "rouse-swap-"));
      const at = (...names: readonly string[]) => join(home.path, ...names);
      mkdirSync(at("tree", "modules", "deep"), { recursive: true });
      mkdirSync(at("kept", "deep"), { recursive: true });
      const files = [at("kept", "file"), at("kept", "deep", "file")];
      for (const path of [at("tree", "modules", "deep", "file"), ...files]) writeFileSync(path, "kept");
      chmodSync(at("kept"), 0o500);
      const clock = new SwappingProgram(swapAt, () => {
        if (!existsSync(at("tree", "modules"))) return;
        renameSync(at("tree", "modules"), at("tree", "other"));
        symlinkSync(at("kept"), at("tree", "modules"));
      });
      expect(await removeTree(at("tree"), { clock })).toBeUndefined();
      expect(existsSync(at("tree"))).toBe(false);
      expect(files.map((path) => existsSync(path))).toEqual([true, true]);
      expect(statSync(at("kept")).mode & 0o777).toBe(0o500);
      chmodSync(at("kept"), 0o700);
      steps = clock.steps;
    }
    expect(steps).toBeGreaterThan(5);
  });
});

const mountsApart = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];

describe("the removal of a folder in which something is mounted", () => {
  it.runIf(spawnSync("unshare", [...mountsApart, "true"]).status === 0).each([
    { what: "a folder of the same device", at: "tree/a/b", top: "tree" },
    { what: "a folder whose name has a space", at: "tree/a b", top: "tree" },
    { what: "a folder at a long path", at: `tree/${"x".repeat(200)}/`.repeat(5).replaceAll("/tree", ""), top: "tree" },
    { what: "a folder, and it is removed by a link", at: "tree/a/b", top: "link/tree" },
    { what: "a folder in its own place", at: "tree", top: "tree" },
    { what: "a file", at: "tree/a/file", top: "tree", source: "kept/file" },
  ])("leaves the content of $what, and removes the rest", async ({ at, top, source = "kept" }) => {
    await using home = await mkdtempDisposable(join(tmpdir(), "rouse-mounts-"));
    const script = `
      const { removeTree } = await import(${JSON.stringify(join(import.meta.dirname, "remove-tree.ts"))});
      const left = await removeTree(${JSON.stringify(top)});
      console.log(left === undefined ? "removed" : left.mayGoOn + " " + left.error.message);`;
    const made = `mkdir kept; echo kept > kept/file; ln -s . link
      if [ -d ${source} ]; then mkdir -p "${at}"; else mkdir -p tree/a; touch "${at}"; fi
      mount --bind ${source} "${at}"; touch tree/other
      "${process.execPath}" --input-type=module -e '${script}'`;
    const { stdout } = await run("unshare", [...mountsApart, "sh", "-ec", made], { cwd: home.path });
    expect(stdout).toMatch(/^false .*(is a mount point|EBUSY)/);
    expect(readFileSync(join(home.path, "kept/file"), "utf8")).toBe("kept\n");
    expect(existsSync(join(home.path, "tree/other"))).toBe(false);
  });

  it("is told each name of a mount point, also with white space, backslashes and bytes that are no text", () => {
    const lines = [
      "36 35 0:32 / /plain rw shared:1 - tmpfs none rw",
      "37 35 0:33 /part /a\\040b\\134\xff rw - ext4 /dev/sda rw",
      "",
    ];
    expect(mountPointsOf(lines.join("\n"))).toEqual(["/plain", "/a b\\\xff"]);
  });
});

describe("the removal of a folder", () => {
  it("removes folders that forbid to write, to read or to enter", async () => {
    const made = `
      mkdir -p mod/cache unread closed/inside && touch mod/cache/go.mod unread/file closed/inside/file
      chmod 555 mod/cache mod; chmod 300 unread; chmod 0 closed/inside closed .`;
    expect(await removeAsUser(made)).toBe("removed");
  });

  it("removes folders that forbid to write and are nested deeper than a path may be long", async () => {
    // Each step is relative: the shells of some systems cannot go so deep.
    const script = `
      for (let depth = 0; depth < 40; depth += 1) {
        fs.mkdirSync("x".repeat(200));
        process.chdir("x".repeat(200));
        fs.writeFileSync("file", "");
        fs.chmodSync("..", 0o555);
      }`;
    const made = `"${process.execPath}" -e '${script}'`;
    expect(await removeAsUser(made)).toBe("removed");
  });

  it("removes names that are no text, FIFOs, sockets and links to nowhere", async () => {
    const folder = newFolder();
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), "");
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xc3, 0x28])]));
    writeFileSync(join(folder, "a\nb *?'\"\\"), "");
    execFileSync("mkfifo", [join(folder, "fifo")]);
    symlinkSync("nowhere", join(folder, "dangling"));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(folder, "socket"), resolve));
    expect(await removeTree(folder)).toBeUndefined();
    server.close();
    expect(() => readdirSync(folder)).toThrow("ENOENT");
  });

  it("follows no symbolic link, also not in the place of the folder itself", async () => {
    await using kept = await mkdtempDisposable(join(tmpdir(), "rouse-kept-"));
    const file = join(kept.path, "file");
    writeFileSync(file, "kept");
    await chmod(kept.path, 0o555);
    const folder = newFolder();
    symlinkSync(kept.path, join(folder, "link"));
    expect(await removeTree(folder)).toBeUndefined();
    symlinkSync(kept.path, folder);
    expect(await removeTree(folder)).toBeUndefined();
    expect(readFileSync(file, "utf8")).toBe("kept");
    await chmod(kept.path, 0o755);
  });

  it("removes what a program writes into the folder meanwhile", async () => {
    const folder = newFolder();
    for (let at = 0; at < 50; at += 1) writeFileSync(join(folder, `${at}`), "");
    // The last folder is emptied last of all: by then its parent was read.
    mkdirSync(join(folder, "last"));
    const removed = removeTree(folder);
    await expect.poll(() => readdirSync(folder).length, { interval: 1 }).toBeLessThan(50);
    try {
      writeFileSync(join(folder, "late"), "");
    } catch {
      // It was removed already.
    }
    expect(await removed).toBeUndefined();
  });

  it("stops between two files at an abort", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "file"), "");
    await expect(removeTree(folder, { signal: AbortSignal.abort(new Error("stopping")) })).rejects.toThrow("stopping");
    unlinkSync(join(folder, "file"));
    rmdirSync(folder);
  });

  it("needs no folder: one that does not exist counts as removed", async () => {
    expect(await removeTree(join(tmpdir(), "rouse-that-never-was"))).toBeUndefined();
  });

  it("warns with the path and the cause of what cannot be removed, and goes on", async () => {
    const lines: string[] = [];
    const log = createLogger("a test", "warn", { write: (line) => lines.push(line) });
    // The kernel lets nobody remove anything there.
    await removeOrWarn("/proc/self/attr", log);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ path: "/proc/self/attr", err: expect.objectContaining({ code: "EPERM" }) }),
    ]);
  });
});
