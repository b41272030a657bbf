import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { archiveFolder, compressFolder } from "./archive.ts";
import { createRun } from "./command.ts";

const run = createRun({ PATH: "/usr/local/bin:/usr/bin:/bin" });
const options = { epochSeconds: 1_700_000_000, run };
const longName = "n".repeat(120);
let work: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "archive-"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** The same files, made in the given order with the given permissions and time. */
function makeTree(name: string, files: readonly string[], mode: number, timeSeconds: number): string {
  const root = join(work, name);
  for (const folder of ["app", `app/${longName}`]) mkdirSync(join(root, folder), { recursive: true, mode });
  for (const file of files) {
    writeFileSync(join(root, file), `this is ${file}`);
    chmodSync(join(root, file), file.endsWith("run") ? mode : mode & 0o666);
    utimesSync(join(root, file), timeSeconds, timeSeconds);
  }
  symlinkSync("b", join(root, "app/link"));
  return root;
}

const files = ["app/b", "app/run", `app/${longName}/${longName}`, "app/ä"];

it("two archives of the same files are equal, whatever their order, permissions and times", async () => {
  const first = makeTree("first", files, 0o755, 1_000_000_000);
  const second = makeTree("second", files.toReversed(), 0o700, 1_600_000_000);
  const archives = [];
  for (const tree of [first, second]) {
    await archiveFolder(tree, `${tree}.tar`, options);
    await compressFolder(tree, `${tree}.tar.gz`, options);
    archives.push({ plain: readFileSync(`${tree}.tar`), compressed: readFileSync(`${tree}.tar.gz`) });
  }
  expect(archives[0]?.plain.equals(archives[1]?.plain ?? Buffer.alloc(0))).toBe(true);
  expect(archives[0]?.compressed.equals(archives[1]?.compressed ?? Buffer.alloc(0))).toBe(true);
  expect(gunzipSync(archives[0]?.compressed ?? "").equals(archives[0]?.plain ?? Buffer.alloc(0))).toBe(true);
});

it("an archive has names in order, owner 0, the given time, and the executable bit", async () => {
  const tree = makeTree("listed", files, 0o700, 1_000_000_000);
  await archiveFolder(tree, `${tree}.tar`, options);
  const list = await run("tar", ["--list", "--verbose", "--numeric-owner", "--full-time", `--file=${tree}.tar`]);
  const entries = list.trim().split("\n");
  expect(entries.every((entry) => / 0\/0 .* 2023-11-14 22:13:20 /.test(entry))).toBe(true);
  expect(entries.map((entry) => `${entry.slice(0, 10)} ${entry.split(" 22:13:20 ")[1]}`)).toEqual([
    "drwxr-xr-x app/",
    "-rw-r--r-- app/b",
    "lrwxr-xr-x app/link -> b",
    `drwxr-xr-x app/${longName}/`,
    `-rw-r--r-- app/${longName}/${longName}`,
    "-rwxr-xr-x app/run",
    "-rw-r--r-- app/\\303\\244",
  ]);
});
