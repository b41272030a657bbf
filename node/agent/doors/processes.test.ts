import {
  closeSync,
  mkdirSync,
  mkdtempDisposableSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Processes } from "./processes.ts";

const mebibyte = 1_048_576;

/** A folder like /proc with the process 7, which has these files open, each twice. */
function procWith(files: Readonly<Record<string, number>>, mostFiles?: number) {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-proc-"));
  mkdirSync(join(folder.path, "7", "fd"), { recursive: true });
  writeFileSync(join(folder.path, "7", "status"), "VmRSS:\t   3000 kB\nRssShmem:\t  1000 kB\nVmSwap:\t    24 kB\n");
  let opened = 0;
  const open = (name: string) => {
    symlinkSync(join(folder.path, name), join(folder.path, "7", "fd", `${opened}`));
    opened += 1;
  };
  const write = (name: string, bytes: number) => {
    writeFileSync(join(folder.path, name), Buffer.alloc(bytes, "x"));
    for (const _ of "12") open(name);
  };
  /** Says that the process 7 is another one from now on. */
  const start = (at: number) =>
    writeFileSync(join(folder.path, "7", "stat"), `7 (a ) b) S 1${" 0".repeat(17)} ${at} 0`);
  /** Closes the files that were opened first. */
  const close = (count: number) => {
    for (let fd = 0; fd < count; fd += 1) rmSync(join(folder.path, "7", "fd", `${fd}`));
  };
  for (const [name, bytes] of Object.entries(files)) write(name, bytes);
  open("gone");
  const processes = new Processes(folder.path, mostFiles);
  return { processes, open, write, start, close, [Symbol.dispose]: () => folder.remove() };
}

const own = 2_024 * 1_024;
const memory = "memfd:runsc-memory (deleted)";

describe("the memory of a sentry", () => {
  it("contains the files of the Pod's memory, once each, and not what else is open", async () => {
    using proc = procWith({ [memory]: 8 * mebibyte, ".gvisor.filestore.abc": 2 * mebibyte, log: mebibyte });
    const bytes = await proc.processes.sentryBytesOf(7, "main");
    expect(bytes).toBeGreaterThanOrEqual(10 * mebibyte + own);
    expect(bytes).toBeLessThan(10.5 * mebibyte + own);
  });

  it("is unknown if its files cannot be seen", async () => {
    using proc = procWith({});
    expect(await proc.processes.sentryBytesOf(8, "main")).toBeUndefined();
  });

  it("is looked for again if the containers, the files or the process have changed, and not else", async () => {
    using proc = procWith({ [memory]: 4 * mebibyte });
    const look = async (containers: string) =>
      Math.round((((await proc.processes.sentryBytesOf(7, containers)) ?? 0) - own) / mebibyte);
    expect(await look("main")).toBe(4);
    proc.write(".gvisor.filestore.abc", 2 * mebibyte);
    expect(await look("main")).toBe(4);
    expect(await look("main, side")).toBe(6);
    expect(await look("main, side")).toBe(6);
    proc.close(2);
    expect(await look("main, side")).toBe(2);
    proc.write(".gvisor.filestore.def", 3 * mebibyte);
    expect(await look("main, side")).toBe(2);
    proc.start(99);
    expect(await look("main, side")).toBe(5);
  });

  it("is looked for in small parts: the agent does other things meanwhile", async () => {
    const [files, inOneTurn] = [4_000, 256];
    using proc = procWith({ [memory]: mebibyte });
    for (let count = 0; count < files; count += 1) proc.open("gone");
    let turns = 0;
    let timer = setImmediate(function turn() {
      turns += 1;
      timer = setImmediate(turn);
    });
    expect(await proc.processes.sentryBytesOf(7, "main")).toBeGreaterThan(mebibyte);
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(files / inOneTurn));
  });

  it("is unknown if the sentry has more files open than are looked at", async () => {
    using proc = procWith({ [memory]: mebibyte }, 3);
    expect(await proc.processes.sentryBytesOf(7, "main")).toBeGreaterThan(mebibyte);
    proc.open("gone");
    expect(await proc.processes.sentryBytesOf(7, "main, side")).toBeUndefined();
  });
});

it("what a process has written is seen also when the files have no name any more", async () => {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-written-"));
  using _folder = { [Symbol.dispose]: () => folder.remove() };
  mkdirSync(join(folder.path, "shop", "web", "g1.part"), { recursive: true });
  const path = join(folder.path, "shop", "web", "g1.part", "pages.img");
  const file = openSync(path, "w");
  writeSync(file, Buffer.alloc(mebibyte, "x"));
  rmSync(path);
  const processes = new Processes();
  expect(await processes.openBytesOf(process.pid, "/shop/web/g1.part/")).toBeGreaterThanOrEqual(mebibyte);
  expect(await processes.openBytesOf(process.pid, "/shop/web/g2.part/")).toBe(0);
  closeSync(file);
  expect(await processes.openBytesOf(process.pid, "/shop/web/g1.part/")).toBe(0);
});
