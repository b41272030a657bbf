import { readFileSync } from "node:fs";

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

  /** The memory that a process has, also where the kernel has swapped it out. */
  memoryBytesOf(pid: number): number {
    const status = this.#read(`${pid}/status`);
    const kilobytes = [...status.matchAll(/^Vm(?:RSS|Swap):\s+(\d+) kB$/gm)].map(([, count]) => Number(count));
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
