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
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Processes, type SentryFiles } from "./processes.ts";

const mebibyte = 1_048_576;

/** The mounts of files that are memory alone, of what the Pod has written to its root, and of a volume. */
const mounts = { memory: "3", written: "50", volume: "900" } as const;
const mountOf = (name: string): string => (name.includes("memfd:") ? mounts.memory : mounts.written);

const sentryFiles = (containers: string): SentryFiles => ({
  ...{ id: "abc", containers, memoryMount: mounts.memory, gofers: [8] },
});

/** A folder like /proc with the process 7, which has these files open, each twice, and its gofer. */
function procWith(files: Readonly<Record<string, number>>, mostFiles?: number) {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-proc-"));
  for (const name of ["7/fd", "7/fdinfo", "8"]) mkdirSync(join(folder.path, name), { recursive: true });
  writeFileSync(join(folder.path, "8", "cmdline"), "runsc-gofer\0gofer\0");
  writeFileSync(
    join(folder.path, "8", "mountinfo"),
    `148 140 254:0 /rootfs / ro - ext4 a rw\n${mounts.volume} 148 0:9 / /data rw - nfs b rw\n`,
  );
  writeFileSync(join(folder.path, "7", "status"), "VmRSS:\t   3000 kB\nRssShmem:\t  1000 kB\nVmSwap:\t    24 kB\n");
  let opened = 0;
  const open = (name: string, mount = mountOf(name)) => {
    symlinkSync(join(folder.path, name), join(folder.path, "7", "fd", `${opened}`));
    writeFileSync(join(folder.path, "7", "fdinfo", `${opened}`), `pos:\t0\nflags:\t02\nmnt_id:\t${mount}\nino:\t9\n`);
    opened += 1;
  };
  const write = (name: string, bytes: number, mount?: string) => {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    writeFileSync(join(folder.path, name), Buffer.alloc(bytes, "x"));
    for (const _ of "12") open(name, mount);
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
  start(1);
  const processes = new Processes(folder.path, mostFiles);
  const look = (containers = "main") => processes.sentryBytesOf(7, sentryFiles(containers));
  return { path: folder.path, processes, look, open, write, start, close, [Symbol.dispose]: () => folder.remove() };
}

const own = 2_024 * 1_024;
const memory = "memfd:runsc-memory (deleted)";

describe("the memory of a sentry", () => {
  it("contains the files of the Pod's memory, once each, and not what else is open", async () => {
    using proc = procWith({ [memory]: 8 * mebibyte, ".gvisor.filestore.abc": 2 * mebibyte, log: mebibyte });
    const bytes = await proc.look();
    expect(bytes).toBeGreaterThanOrEqual(10 * mebibyte + own);
    expect(bytes).toBeLessThan(10.5 * mebibyte + own);
  });

  it("is unknown if its files cannot be seen", async () => {
    using proc = procWith({ log: mebibyte });
    expect(await proc.look()).toBeUndefined();
    expect(await proc.processes.sentryBytesOf(9, sentryFiles("main"))).toBeUndefined();
  });

  it("is unknown if only what the Pod has written to its root is seen", async () => {
    using proc = procWith({ ".gvisor.filestore.abc": mebibyte });
    expect(await proc.look()).toBeUndefined();
  });

  it("is unknown if the mount of one of its files cannot be told", async () => {
    using proc = procWith({ [memory]: mebibyte, ".gvisor.filestore.abc": mebibyte });
    expect(await proc.look()).toBeGreaterThan(2 * mebibyte);
    const info = join(proc.path, "7", "fdinfo", "3");
    rmSync(info);
    mkdirSync(info); // a read of it is an error
    expect(await proc.look()).toBeUndefined();
    expect(await proc.look("main, side")).toBeUndefined();
  });

  it.each([memory, "memfd:runsc-memory", ".gvisor.filestore.abc"])("does not contain %s of a volume", async (name) => {
    using proc = procWith({ [memory]: mebibyte });
    const before = await proc.look();
    proc.write(`volume/${name}`, 8 * mebibyte, mounts.volume);
    expect(await proc.look("main, side")).toBe(before);
  });

  it("is told without a look at a file of a volume, whose server may never answer", async () => {
    using proc = procWith({ [memory]: mebibyte });
    proc.open(".gvisor.filestore.abc", mounts.volume);
    expect(await proc.look()).toBeGreaterThan(mebibyte);
  });

  it("is unknown if nobody tells which files are of volumes", async () => {
    using proc = procWith({ [memory]: mebibyte });
    rmSync(join(proc.path, "8"), { recursive: true });
    expect(await proc.look()).toBeGreaterThan(mebibyte);
    proc.open(".gvisor.filestore.abc");
    expect(await proc.look("main, side")).toBeUndefined();
  });

  it("is unknown if the sentry has more files open of such names than are looked at", async () => {
    using proc = procWith({ [memory]: mebibyte });
    for (let count = 0; count < 1_024; count += 1) proc.open(".gvisor.filestore.abc", mounts.volume);
    expect(await proc.look()).toBeUndefined();
  });

  it("is looked for again if the containers, the files or the process have changed, and not else", async () => {
    using proc = procWith({ ".gvisor.filestore.abc": 2 * mebibyte, [memory]: 4 * mebibyte });
    const look = async (containers: string) => Math.round((((await proc.look(containers)) ?? 0) - own) / mebibyte);
    expect(await look("main")).toBe(6);
    proc.write("side/.gvisor.filestore.abc", 3 * mebibyte);
    expect(await look("main")).toBe(6);
    expect(await look("main, side")).toBe(9);
    expect(await look("main, side")).toBe(9);
    proc.close(2);
    expect(await look("main, side")).toBe(7);
    proc.write("later/.gvisor.filestore.abc", mebibyte);
    expect(await look("main, side")).toBe(7);
    proc.start(99);
    expect(await look("main, side")).toBe(8);
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
    expect(await proc.look()).toBeGreaterThan(mebibyte);
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(files / inOneTurn));
  });

  it("is unknown if the sentry has more files open than are looked at", async () => {
    using proc = procWith({ [memory]: mebibyte }, 3);
    expect(await proc.look()).toBeGreaterThan(mebibyte);
    proc.open("gone");
    expect(await proc.look("main, side")).toBeUndefined();
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
