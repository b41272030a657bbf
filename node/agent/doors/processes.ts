import { readdirSync, readFileSync } from "node:fs";
import { OpenFiles } from "./open-files.ts";

/** The files in which gVisor keeps the memory of a Pod, and what the Pod has written to a root file system in memory. */
const memoryFile = /(?:^|\/)(?:memfd:runsc-memory|\.gvisor\.filestore)[^/]*$/;

/** The processes of the node, and its clock. */
export class Processes {
  readonly #folder: string;
  readonly #openFiles: OpenFiles;

  constructor(folder = "/proc", mostFiles?: number) {
    this.#folder = folder;
    this.#openFiles = new OpenFiles(folder, mostFiles);
  }

  /** The words of a command; none if there is no such process. */
  commandOf(pid: number): readonly string[] {
    return this.#read(`${pid}/cmdline`).split("\0").slice(0, -1);
  }

  /** The first process with such a command. */
  find(isOne: (command: readonly string[]) => boolean): number | undefined {
    const pids = readdirSync(this.#folder).filter((name) => /^\d+$/.test(name));
    return pids.map(Number).find((pid) => isOne(this.commandOf(pid)));
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
   * name, which are mapped only in part. Undefined if these files cannot be seen. `containers` changes with the containers that
   * gVisor has: each may bring such a file.
   */
  async sentryBytesOf(pid: number, containers: string): Promise<number | undefined> {
    const search = { name: containers, isOne: (path: string) => memoryFile.test(path) };
    const inFiles = await this.#openFiles.bytesOf(pid, search, this.#nowOf(pid));
    return inFiles === undefined ? undefined : inFiles + this.#ownBytesOf(pid);
  }

  /** What files of a process take whose paths contain this, also if they have no name any more. 0 if it cannot be told. */
  async openBytesOf(pid: number, part: string): Promise<number> {
    const search = { name: part, isOne: (path: string) => path.includes(part) };
    return (await this.#openFiles.bytesOf(pid, search, this.#nowOf(pid))) ?? 0;
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
