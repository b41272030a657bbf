import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/** The files in which gVisor keeps the memory of a Pod, and what the Pod has written to a root file system in memory. */
const memoryFile = /(?:^|\/)(?:memfd:runsc-memory|\.gvisor\.filestore)[^/]*$/;
/** Unlike the size of such a file, what it takes. */
const blockBytes = 512;

/** The processes of the node, and its clock. */
export class Processes {
  readonly #folder: string;

  constructor(folder = "/proc") {
    this.#folder = folder;
  }

  /** The words of a command; none if there is no such process. */
  commandOf(pid: number): readonly string[] {
    return this.#read(`${pid}/cmdline`).split("\0").slice(0, -1);
  }

  parentOf(pid: number): number {
    // The second field is the program's name in parentheses, which may contain spaces and parentheses.
    const stat = this.#read(`${pid}/stat`);
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
  }

  /**
   * The memory of a sentry and of its Pod, also where the kernel has swapped it out. That of the Pod is in files without a
   * name, which are mapped only in part. Undefined if these files cannot be seen.
   */
  sentryBytesOf(pid: number): number | undefined {
    const inFiles = this.#memoryFileBytesOf(pid);
    return inFiles === undefined ? undefined : inFiles + this.#ownBytesOf(pid);
  }

  /** Without what it shares with others: the files of the Pod's memory are counted by themselves. */
  #ownBytesOf(pid: number): number {
    const status = this.#read(`${pid}/status`);
    const fields = [...status.matchAll(/^(VmRSS|VmSwap|RssShmem):\s+(\d+) kB$/gm)];
    const kilobytes = fields.map(([, name, count]) => (name === "RssShmem" ? -Number(count) : Number(count)));
    return kilobytes.reduce((sum, count) => sum + count, 0) * 1_024;
  }

  #memoryFileBytesOf(pid: number): number | undefined {
    const folder = `${this.#folder}/${pid}/fd`;
    try {
      const files = readdirSync(folder).map((name) => this.#memoryFile(`${folder}/${name}`));
      const sizes = new Map(files.flatMap((file) => (file ? [[`${file.dev} ${file.ino}`, file.blocks]] : [])));
      return [...sizes.values()].reduce((sum, blocks) => sum + blocks, 0) * blockBytes;
    } catch {
      return undefined;
    }
  }

  /** @throws an error with the code EACCES if this process may not see it. */
  #memoryFile(path: string) {
    try {
      return memoryFile.test(readlinkSync(path)) ? statSync(path) : undefined;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
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
