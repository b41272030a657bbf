import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { type FileSearch, OpenFiles } from "./open-files.ts";

/** The file in which gVisor keeps the memory of a Pod, as the kernel calls it. */
const memoryFile = /(?:^|\/)memfd:runsc-memory[^/]*$/;
/** The files with what a Pod has written to a root file system that gVisor keeps beside it, without the id of its sandbox. */
const writtenFile = ".gvisor.filestore.";

const goferName = "runsc-gofer";

/** How the files of a sentry are known. */
export interface SentryFiles {
  /** The id of its sandbox. */
  readonly id: string;
  /** Changes with the containers that gVisor has: each may bring such a file. */
  readonly containers: string;
  /** The mount on which this kernel keeps files that are memory alone. Nobody can mount it. */
  readonly memoryMount: string;
  /** The processes that open the files of volumes for it. */
  readonly gofers: readonly number[];
}

/** The processes of the node, and its clock. */
export class Processes {
  readonly #folder: string;
  readonly #openFiles: OpenFiles;

  constructor(folder = "/proc", mostFiles?: number) {
    this.#folder = folder;
    this.#openFiles = new OpenFiles(folder, mostFiles);
  }

  /** The words of a command; none if there is no such process. The kernel reads them from its memory, which may wait for a disk. */
  async commandOf(pid: number): Promise<readonly string[]> {
    const text = await readFile(`${this.#folder}/${pid}/cmdline`, "utf8").catch(() => "");
    return text.split("\0").slice(0, -1);
  }

  /** The first process with such a command. */
  async find(isOne: (command: readonly string[]) => boolean): Promise<number | undefined> {
    for (const name of await readdir(this.#folder)) {
      if (/^\d+$/.test(name) && isOne(await this.commandOf(Number(name)))) return Number(name);
    }
    return undefined;
  }

  parentOf(pid: number): number {
    return Number(this.#statOf(pid)[1] ?? 0);
  }

  /** The fields of proc_pid_stat(5) from the third on. The second is the program's name in parentheses, which may contain both, and spaces. */
  #statOf(pid: number): readonly string[] {
    const stat = this.#read(`${pid}/stat`);
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  }

  /**
   * The memory of a sentry and of its Pod, also where the kernel has swapped it out. That of the Pod is in files without a
   * name, which are mapped only in part. Undefined if these files cannot be seen.
   */
  async sentryBytesOf(pid: number, files: SentryFiles): Promise<number | undefined> {
    const { containers, gofers, id, memoryMount } = files;
    const ofVolumes = once(() => this.#mountsOfGofers(gofers));
    const search: FileSearch = {
      kind: "memory",
      state: `${containers} ${memoryMount}`,
      hasName: (path) => memoryFile.test(path) || path.endsWith(`/${writtenFile}${id}`),
      isNeeded: (path) => memoryFile.test(path),
      hasMount: async (mount, path) =>
        memoryFile.test(path) ? mount === memoryMount : !(await ofVolumes()).has(mount),
    };
    const inFiles = await this.#openFiles.bytesOf(pid, search, this.#nowOf(pid));
    return inFiles === undefined ? undefined : inFiles + this.#ownBytesOf(pid);
  }

  /**
   * What files take that a process has open for this one, and whose paths contain this, also if they have no name any more. 0 if it cannot be
   * told.
   */
  async openBytesOf(pid: number, part: string): Promise<number> {
    const own = once(() => this.#mountsOf("self"));
    const search: FileSearch = {
      kind: "image",
      state: part,
      hasName: (path) => path.includes(part),
      isNeeded: () => true,
      hasMount: async (mount) => (await own()).has(mount),
    };
    return (await this.#openFiles.bytesOf(pid, search, this.#nowOf(pid))) ?? 0;
  }

  /**
   * A gofer has a mount namespace of its own, and sees in it the mounts of the root and of the volumes of its container. @throws if one is gone: then
   * nobody tells them.
   */
  async #mountsOfGofers(gofers: readonly number[]): Promise<ReadonlySet<string>> {
    const commands = await Promise.all(gofers.map((pid) => this.commandOf(pid)));
    if (commands.length === 0 || commands.some(([name]) => name !== goferName)) throw new Error("a gofer is gone");
    const mounts = await Promise.all(gofers.map((pid) => this.#mountsOf(pid)));
    return new Set(mounts.flatMap((each) => [...each]));
  }

  /** The kernel's numbers of the mounts that a process sees. @throws if there is no such process. */
  async #mountsOf(pid: number | "self"): Promise<ReadonlySet<string>> {
    const text = await readFile(`${this.#folder}/${pid}/mountinfo`, "utf8");
    return new Set(text.split("\n").flatMap((line) => line.split(" ", 1)));
  }

  #nowOf(pid: number) {
    return { startedAt: this.#statOf(pid)[19] ?? "", ms: this.uptimeMs() };
  }

  /** Without what it shares with others: the files of the Pod's memory are counted by themselves. */
  #ownBytesOf(pid: number): number {
    const status = this.#read(`${pid}/status`);
    const fields = [...status.matchAll(/^(VmRSS|VmSwap|RssShmem):\s+(\d+) kB$/gm)];
    const kilobytes = fields.map(([, name, count]) => (name === "RssShmem" ? -Number(count) : Number(count)));
    return kilobytes.reduce((sum, count) => sum + count, 0) * 1_024;
  }

  /** Milliseconds since the node was started. Unlike a monotonic clock, it goes on while the machine is suspended. */
  uptimeMs(): number {
    return Number(this.#read("uptime").split(" ")[0]) * 1_000;
  }

  end(pid: number): void {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }

  #read(path: string): string {
    try {
      return readFileSync(`${this.#folder}/${path}`, "utf8");
    } catch {
      return ""; // the process has ended
    }
  }
}

/** Asks at the first call only. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask();
    return asked;
  };
}
