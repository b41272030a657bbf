import { execFile, execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
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
    await expect(removeTree(folder, AbortSignal.abort(new Error("stopping")))).rejects.toThrow("stopping");
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
