import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import { hasProc, listProcesses, type ProcessFacts, parseStat, readBootId } from "./proc.ts";
import { killGroup, killProcess } from "./process.ts";

/** Names one process that this runtime has started, so that its successor can tell it from any other. */
export interface ProcessRecord {
  readonly pid: number;
  readonly program: string;
  /** Absent where the system does not tell them. */
  readonly startTicks?: number;
  readonly bootId?: string;
}

/**
 * Remembers on disk what runs. It is written in the same turn of the event loop in which a process was started, so
 * that hardly a moment is left in which `kill -9` could make an orphan of it that nobody knows.
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

  add(key: string, pid: number, program: string): void {
    const startTicks = hasProc ? parseStat(readSync(`/proc/${pid}/stat`))?.startTicks : undefined;
    const record: ProcessRecord = {
      pid,
      program,
      ...(startTicks !== undefined && { startTicks }),
      ...(this.#bootId !== undefined && { bootId: this.#bootId }),
    };
    writeFileSync(this.#file(key), JSON.stringify(record));
  }

  remove(key: string): void {
    rmSync(this.#file(key), { force: true });
  }

  /** Kills what an earlier run of ours left behind, and returns how many processes or groups that were. */
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
        log.warn({ pid: record.pid, program: record.program }, "killed a process that an earlier run had left behind");
      }
      await rm(file, { force: true });
    }
    if (killed > 0) await clock.sleep(settleMs); // so that the system has closed their ports
    return killed;
  }

  async #strays(record: ProcessRecord, processes: readonly ProcessFacts[]): Promise<readonly number[]> {
    if (hasProc) return record.bootId === this.#bootId ? straysOf(record, processes) : [];
    return (await commandOf(record.pid)).startsWith(record.program) ? [record.pid] : [];
  }

  #file(key: string): string {
    return join(this.#directory, `${key.replaceAll("/", "_")}.json`);
  }
}

const settleMs = 50;

/**
 * What is left of the process group that a record tells of. A pid with another start time belongs to a stranger. When
 * the head is gone, its number is not given to another process for as long as its group has members.
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
    return Number.isInteger(record.pid) && record.pid > 1 ? record : undefined;
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
