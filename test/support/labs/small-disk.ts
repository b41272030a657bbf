import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const apart = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];

/** Whether this machine lets a test mount a disk in a namespace of its own. */
export const canMountDisks = spawnSync("unshare", [...apart, "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;

export interface SmallDisk extends AsyncDisposable {
  /** A directory on this disk, also for this process. */
  readonly path: string;
  /** As a kernel does after an error of the disk. */
  makeReadOnly(): Promise<void>;
}

/** A disk of this size, in memory. It ends with the process that holds its namespace. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  await using cleanup = new AsyncDisposableStack();
  const home = cleanup.use(await mkdtempDisposable(join(tmpdir(), "rouse-disk-")));
  const script = `mount -t tmpfs -o size=${megabytes}m none "$0"; echo mounted; read line || exit 0
mount -o remount,ro "$0"; echo remounted; read end`;
  const holder = spawn("unshare", [...apart, "sh", "-ec", script, home.path], { stdio: ["pipe", "pipe", "inherit"] });
  cleanup.defer(() => end(holder));
  await once(holder.stdout, "data");
  const parts = cleanup.move();
  const makeReadOnly = async () => {
    holder.stdin.write("\n");
    await once(holder.stdout, "data");
  };
  const path = `/proc/${holder.pid}/root${home.path}`;
  return { path, makeReadOnly, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

async function end(holder: ChildProcess): Promise<void> {
  const exited = once(holder, "exit");
  holder.stdin?.end();
  await exited;
}
