import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { Containment, type ContainmentRecord } from "./containment.ts";
import { hasProc, listProcesses, type ProcessFacts, parseStat, readBootId } from "./proc.ts";
import { killGroup, killProcess } from "./process.ts";

/** Identifies one process of this runtime for its successor. */
export interface ProcessRecord extends Partial<ContainmentRecord> {
  readonly pid: number;
  readonly program: string;
  /** Absent if the system does not report them. */
  readonly startTicks?: number;
  readonly bootId?: string;
}

/**
 * Records running processes on disk. A record is written in the same turn of the event loop in which its process
 * starts, so `kill -9` at any later moment leaves no unknown orphan.
 */
export class ProcessRecords {
  readonly #directory: string;
  readonly #bootId: string | undefined;

  private constructor(directory: string, bootId: string | undefined) {
    this.#directory = directory;
    this.#bootId = bootId;
  }

  static async open(directory: string): Promise<ProcessRecords> {
    mkdirSync(directory, { recursive: true });
    return new ProcessRecords(directory, await readBootId());
  }

  add(key: string, started: Pick<ProcessRecord, "pid" | "program"> & ContainmentRecord): void {
    const startTicks = hasProc ? parseStat(readSync(`/proc/${started.pid}/stat`))?.startTicks : undefined;
    const record: ProcessRecord = {
      ...started,
      ...(startTicks !== undefined && { startTicks }),
      ...(this.#bootId !== undefined && { bootId: this.#bootId }),
    };
    writeFileSync(this.#file(key), JSON.stringify(record));
  }

  remove(key: string): void {
    rmSync(this.#file(key), { force: true });
  }

  /** Kills the processes of an earlier run, and returns the number of processes or groups. */
  async killStrays(clock: Clock, log: Logger): Promise<number> {
    let killed = 0;
    const processes = await listProcesses();
    for (const name of await readdir(this.#directory)) {
      const file = join(this.#directory, name);
      const record = parseRecord(await readFile(file, "utf8").catch(() => ""));
      const pids = record ? await this.#strays(record, processes) : [];
      if (record && pids.length > 0) {
        for (const pid of pids) killProcess(pid);
        killGroup(record.pid, "SIGKILL");
        killed += pids.length;
        log.warn({ pid: record.pid, program: record.program }, "killed a process left by an earlier run");
      }
      if (record && record.bootId === this.#bootId) killed += await this.#endContainment(record, clock, log);
      await rm(file, { force: true });
    }
    if (killed > 0) await clock.sleep(settleMs); // until the system has closed their ports
    return killed;
  }

  async #strays(record: ProcessRecord, processes: readonly ProcessFacts[]): Promise<readonly number[]> {
    if (hasProc) return record.bootId === this.#bootId ? straysOf(record, processes) : [];
    return (await commandOf(record.pid)).startsWith(record.program) ? [record.pid] : [];
  }

  /** Kills processes that have left their process group. */
  async #endContainment({ program, mark, cgroup }: ProcessRecord, clock: Clock, log: Logger): Promise<number> {
    if (mark === undefined) return 0;
    const { killed, left } = await Containment.find({ mark, ...(cgroup !== undefined && { cgroup }) }).end(clock);
    if (killed > 0)
      log.warn({ program, killed, left }, "killed processes outside the process group of their container");
    return killed;
  }

  #file(key: string): string {
    return join(this.#directory, `${key.replaceAll("/", "_")}.json`);
  }
}

const settleMs = 50;

/**
 * The remains of a record's process group. A pid with another start time belongs to a foreign process. If the head is
 * gone, the kernel does not reuse its number while the group has members.
 */
export function straysOf(record: ProcessRecord, processes: readonly ProcessFacts[]): readonly number[] {
  const { pid, startTicks = 0 } = record;
  const head = processes.find((facts) => facts.pid === pid);
  if (head && head.startTicks !== startTicks) return [];
  return processes
    .filter((facts) => facts.groupId === pid && facts.sessionId === pid && facts.startTicks >= startTicks)
    .filter(({ zombie }) => !zombie)
    .map((facts) => facts.pid);
}

function parseRecord(text: string): ProcessRecord | undefined {
  try {
    const record: ProcessRecord = JSON.parse(text);
    if (!Number.isInteger(record.pid) || record.pid <= 1) return undefined;
    const { mark, cgroup, ...rest } = record;
    // A mark that is not a UUID could match foreign environments.
    const isMark = typeof mark === "string" && /^[0-9a-f-]{36}$/.test(mark);
    return { ...rest, ...(isMark && { mark, ...(typeof cgroup === "string" && { cgroup }) }) };
  } catch {
    return undefined; // torn by a crash
  }
}

async function commandOf(pid: number): Promise<string> {
  const answer = promisify(execFile)("ps", ["-o", "command=", "-p", String(pid)]).catch(() => undefined);
  return (await answer)?.stdout ?? "";
}

function readSync(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
