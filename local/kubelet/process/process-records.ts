import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFoldersSync } from "../../../lib/files/make-folders.ts";
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
  /** The directory in which it was written. A record of another one came with a copy, and tells nothing of this runtime. */
  readonly directory?: string;
}

/**
 * Records running processes on disk. The containment of a process is recorded before the process starts, and its pid in the
 * same turn of the event loop in which it starts. So on systems with `/proc`, `kill -9` leaves no unknown orphan at any moment. Each run has
 * a record of its own, until all its processes are gone: a container may run again while the system has not ended those of its former run.
 */
export class ProcessRecords {
  readonly #directory: string;
  /** Of the directory: a copy has another one, and a directory with another name the same. */
  readonly #identity: string;
  readonly #knowsProc: boolean;
  readonly #bootId: string | undefined;

  private constructor(directory: string, knowsProc: boolean, bootId: string | undefined) {
    this.#directory = directory;
    this.#identity = identityOf(directory);
    this.#knowsProc = knowsProc;
    this.#bootId = bootId;
  }

  /** `knowsProc`: whether `/proc` tells of processes; else `ps` does. */
  static async open(directory: string, knowsProc: boolean = hasProc): Promise<ProcessRecords> {
    makeFoldersSync(directory, 0o700);
    chmodSync(directory, 0o700); // earlier versions gave it no mode
    return new ProcessRecords(directory, knowsProc, await readBootId());
  }

  /** Records that a process is about to start. `key`: the UID of the Pod, a slash, and the name of the container. */
  plan(key: string, planned: Pick<ProcessRecord, "program"> & ContainmentRecord): void {
    this.#write(this.#file(key, planned.mark), planned);
  }

  /** Records that the process has started. */
  add(key: string, started: Pick<ProcessRecord, "program"> & ContainmentRecord & { readonly pid: number }): void {
    const { pid } = started;
    this.#write(this.#file(key, started.mark), {
      ...started,
      ...(this.#knowsProc ? ticksOf(pid) : { startedAt: startedAt(pid) }),
    });
  }

  /** All processes of the run with this mark are gone. */
  remove(key: string, mark: string): void {
    rmSync(this.#file(key, mark), { force: true });
  }

  /**
   * Kills the processes of an earlier run with this directory, and returns the number of processes or groups. The records of those that the
   * system does not end stay, for the next start.
   */
  async killStrays(clock: Clock, log: Logger): Promise<number> {
    let killed = 0;
    const processes = await listProcesses();
    for (const name of await readdir(this.#directory)) {
      const file = join(this.#directory, name);
      let isOver = true;
      if (isRecord(name)) {
        const record = parseRecord(await readFile(file, "utf8").catch(() => ""));
        const isOurs = record !== undefined && this.#isOurs(record, log);
        if (isOurs) killed += this.#killGroupOf(record, processes, log);
        if (isOurs && record.bootId === this.#bootId) {
          const ended = await this.#endContainment(record, clock, log);
          killed += ended.killed;
          isOver = ended.isOver;
        }
      }
      if (isOver && (isRecord(name) || isRecord(name.replace(newSuffix, "")))) await rm(file, { force: true });
    }
    if (killed > 0) await clock.sleep(settleMs); // until the system has closed their ports
    return killed;
  }

  /** The processes of a copied record may belong to the runtime of the original, which runs. */
  #isOurs({ directory, bootId, program, pid, mark }: ProcessRecord, log: Logger): boolean {
    if (directory === undefined || directory === this.#identity) return true; // earlier versions recorded none
    const text = "left alone a process that is recorded in a copy of another data directory";
    if (bootId === this.#bootId) log.warn({ program, pid, mark }, text);
    return false;
  }

  #killGroupOf(record: ProcessRecord, processes: readonly ProcessFacts[], log: Logger): number {
    const { pid, program } = record;
    const strays = this.#strays(record, processes);
    if (pid === undefined || strays.length === 0) return 0;
    for (const stray of strays) killProcess(stray);
    killGroup(pid, "SIGKILL");
    log.warn({ pid, program }, "sent SIGKILL to the processes of a container that an earlier run left");
    return strays.length;
  }

  #strays(record: ProcessRecord, processes: readonly ProcessFacts[]): readonly number[] {
    if (this.#knowsProc) return record.bootId === this.#bootId ? straysOf(record, processes) : [];
    const { pid } = record;
    if (pid === undefined || record.startedAt === undefined) return [];
    return record.startedAt === startedAt(pid) ? [pid] : [];
  }

  /** Kills processes that have left their process group. */
  async #endContainment(
    { program, mark, cgroup }: ProcessRecord,
    clock: Clock,
    log: Logger,
  ): Promise<{ readonly killed: number; readonly isOver: boolean }> {
    if (mark === undefined) return { killed: 0, isOver: true };
    const { killed, left } = await Containment.find({ mark, ...(cgroup !== undefined && { cgroup }) }).end(clock);
    if (left.length > 0) {
      const text = "could not kill processes outside the process group of their container; retrying at the next start";
      log.warn({ program, killed, left }, text);
    } else if (killed > 0) {
      log.warn({ program, killed }, "killed processes outside the process group of their container");
    }
    return { killed, isOver: left.length === 0 };
  }

  /** Replaces a record at once: a torn one would no longer tell of its processes. */
  #write(file: string, record: ProcessRecord): void {
    const place = { directory: this.#identity, ...(this.#bootId !== undefined && { bootId: this.#bootId }) };
    try {
      writeFileSync(file + newSuffix, JSON.stringify({ ...record, ...place }), { mode: 0o600 });
      renameSync(file + newSuffix, file);
    } catch (error) {
      // On a full disk each try would leave an empty file.
      rmSync(file + newSuffix, { force: true });
      throw error;
    }
  }

  #file(key: string, mark: string): string {
    return join(this.#directory, `${key.replaceAll("/", "_")}_${mark}.json`);
  }
}

function identityOf(directory: string): string {
  const { dev, ino } = statSync(directory, { bigint: true });
  return `${dev}/${ino}`;
}

const settleMs = 50;
const newSuffix = ".new";

/** Whether `#file` makes such names, from a Pod's UID, a container's name and a mark. Earlier versions had no mark in it. */
const isRecord = (name: string): boolean => {
  const [uid = "", ...rest] = name.split("_");
  return isUid(uid) && /^[a-z0-9-]+(_[0-9a-f-]{36})?\.json$/.test(rest.join("_"));
};

/**
 * The process group of a record, if its group leader is the recorded process. A leader with another start time is a foreign
 * process. If the leader is gone, the group may be foreign too, because the kernel reuses the number once a group has ended.
 * Then the containment of the container finds what is left of it.
 */
export function straysOf(record: ProcessRecord, processes: readonly ProcessFacts[]): readonly number[] {
  const { pid, startTicks } = record;
  const leader = processes.find((facts) => facts.pid === pid);
  if (!leader || leader.startTicks !== startTicks) return [];
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
