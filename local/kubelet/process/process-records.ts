import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { isUid } from "../volumes/directories.ts";
import { Containment, type ContainmentRecord } from "./containment.ts";
import { hasProc, listProcesses, type ProcessFacts, parseStat, readBootId, startedAt } from "./proc.ts";
import { killGroup, killProcess } from "./process.ts";

/** Identifies one run of a container for the next runtime. */
export interface ProcessRecord extends Partial<ContainmentRecord> {
  /** Absent until the process has started. */
  readonly pid?: number;
  readonly program: string;
  /** On systems with `/proc`. */
  readonly startTicks?: number;
  readonly bootId?: string;
  /** On other systems: when `ps` says that it started. */
  readonly startedAt?: string | undefined;
}

/**
 * Records running processes on disk. The containment of a process is recorded before the process starts, and its pid in the
 * same turn of the event loop in which it starts. So on systems with `/proc`, `kill -9` leaves no unknown orphan at any moment.
 */
export class ProcessRecords {
  readonly #directory: string;
  readonly #knowsProc: boolean;
  readonly #bootId: string | undefined;

  private constructor(directory: string, knowsProc: boolean, bootId: string | undefined) {
    this.#directory = directory;
    this.#knowsProc = knowsProc;
    this.#bootId = bootId;
  }

  /** `knowsProc`: whether `/proc` tells of processes; else `ps` does. */
  static async open(directory: string, knowsProc: boolean = hasProc): Promise<ProcessRecords> {
    mkdirSync(directory, { recursive: true });
    return new ProcessRecords(directory, knowsProc, await readBootId());
  }

  /** Records that a process is about to start. A record of an earlier run has ended. */
  plan(key: string, planned: Pick<ProcessRecord, "program"> & ContainmentRecord): void {
    this.#write(key, planned);
  }

  /** Records that the process has started. */
  add(key: string, started: Pick<ProcessRecord, "program"> & ContainmentRecord & { readonly pid: number }): void {
    const { pid } = started;
    this.#write(key, { ...started, ...(this.#knowsProc ? ticksOf(pid) : { startedAt: startedAt(pid) }) });
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
      if (isRecord(name)) {
        const record = parseRecord(await readFile(file, "utf8").catch(() => ""));
        if (record) killed += this.#killGroupOf(record, processes, log);
        if (record && record.bootId === this.#bootId) killed += await this.#endContainment(record, clock, log);
      }
      if (isRecord(name) || isRecord(name.replace(newSuffix, ""))) await rm(file, { force: true });
    }
    if (killed > 0) await clock.sleep(settleMs); // until the system has closed their ports
    return killed;
  }

  #killGroupOf(record: ProcessRecord, processes: readonly ProcessFacts[], log: Logger): number {
    const { pid, program } = record;
    const strays = this.#strays(record, processes);
    if (pid === undefined || strays.length === 0) return 0;
    for (const stray of strays) killProcess(stray);
    killGroup(pid, "SIGKILL");
    log.warn({ pid, program }, "killed the processes of a container that an earlier run left");
    return strays.length;
  }

  #strays(record: ProcessRecord, processes: readonly ProcessFacts[]): readonly number[] {
    if (this.#knowsProc) return record.bootId === this.#bootId ? straysOf(record, processes) : [];
    const { pid } = record;
    if (pid === undefined || record.startedAt === undefined) return [];
    return record.startedAt === startedAt(pid) ? [pid] : [];
  }

  /** Kills processes that have left their process group. */
  async #endContainment({ program, mark, cgroup }: ProcessRecord, clock: Clock, log: Logger): Promise<number> {
    if (mark === undefined) return 0;
    const { killed, left } = await Containment.find({ mark, ...(cgroup !== undefined && { cgroup }) }).end(clock);
    if (killed > 0)
      log.warn({ program, killed, left }, "killed processes outside the process group of their container");
    return killed;
  }

  /** Replaces a record at once: a torn one would no longer tell of its processes. */
  #write(key: string, record: ProcessRecord): void {
    const file = this.#file(key);
    const withBoot = { ...record, ...(this.#bootId !== undefined && { bootId: this.#bootId }) };
    writeFileSync(file + newSuffix, JSON.stringify(withBoot));
    renameSync(file + newSuffix, file);
  }

  #file(key: string): string {
    return join(this.#directory, `${key.replaceAll("/", "_")}.json`);
  }
}

const settleMs = 50;
const newSuffix = ".new";

/** Whether `#file` makes such names, from a Pod's UID and a container's name. */
const isRecord = (name: string): boolean => {
  const [uid = "", ...container] = name.split("_");
  return isUid(uid) && /^[a-z0-9-]+\.json$/.test(container.join("_"));
};

/**
 * The process group of a record, if its head is the recorded process: a head with another start time is a foreign process.
 * Without its head a group proves nothing, because the kernel reuses the number once the group has ended. What is left of the
 * container is then found by its containment.
 */
export function straysOf(record: ProcessRecord, processes: readonly ProcessFacts[]): readonly number[] {
  const { pid, startTicks } = record;
  const head = processes.find((facts) => facts.pid === pid);
  if (!head || head.startTicks !== startTicks) return [];
  return processes
    .filter((facts) => facts.groupId === pid && facts.sessionId === pid)
    .filter(({ zombie }) => !zombie)
    .map((facts) => facts.pid);
}

function parseRecord(text: string): ProcessRecord | undefined {
  try {
    const record: ProcessRecord = JSON.parse(text);
    if (record.pid !== undefined && (!Number.isInteger(record.pid) || record.pid <= 1)) return undefined;
    const { mark, cgroup, ...rest } = record;
    // A mark that is not a UUID could match foreign environments.
    const isMark = typeof mark === "string" && /^[0-9a-f-]{36}$/.test(mark);
    return { ...rest, ...(isMark && { mark, ...(typeof cgroup === "string" && { cgroup }) }) };
  } catch {
    return undefined; // torn by a crash
  }
}

function ticksOf(pid: number): Pick<ProcessRecord, "startTicks"> {
  const startTicks = parseStat(readSync(`/proc/${pid}/stat`))?.startTicks;
  return startTicks === undefined ? {} : { startTicks };
}

function readSync(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
