import { randomUUID } from "node:crypto";
import type { Clock } from "../../../lib/time/clock.ts";
import { Cgroup } from "./cgroups.ts";
import { killedAtExit } from "./killed-at-exit.ts";
import { environmentValues, hasProc, processesWith, readProcess } from "./proc.ts";
import { killProcess, type Launch } from "./process.ts";

/** In the environment of every container, and so of its descendants. */
const markName = "ROUSE_CONTAINER_RUN";
/** A killed process is gone within microseconds, unless it waits for a disk. */
const roundsMax = 100;
const pauseMs = 20;

/** The data by which another process, too, finds the processes of one run of a container. */
export interface ContainmentRecord {
  readonly mark: string;
  /** The path of its cgroup; absent without one. */
  readonly cgroup?: string;
}

/**
 * Finds every process that one run of a container has started, also those with a session of their own (`setsid`,
 * daemons): by a cgroup if this user may create one, and by a mark in the environment. The cgroup finds a program that
 * clears its environment (`su -`). The mark finds the processes where this user may not create cgroups. Without
 * cgroups, a process that clears the environment and leaves the session is lost. Without `/proc`, both find nothing.
 */
export class Containment {
  readonly record: ContainmentRecord;
  #cgroup: Cgroup | undefined;
  #atExit: Disposable | undefined;

  private constructor(record: ContainmentRecord) {
    this.record = record;
  }

  /** A new one that has no cgroup yet: its record is written before anything exists that it has to find. */
  static plan(): Containment {
    const mark = randomUUID();
    const cgroup = hasProc ? Cgroup.placeFor(nameOf(mark)) : undefined;
    return new Containment({ mark, ...(cgroup !== undefined && { cgroup }) });
  }

  static find(record: ContainmentRecord): Containment {
    const { mark, cgroup } = record;
    const found = new Containment(record);
    found.#cgroup = cgroup === undefined ? undefined : Cgroup.find(cgroup, nameOf(mark));
    return found;
  }

  /** Creates the planned cgroup. If that fails, the mark alone finds the processes. */
  open(): void {
    const cgroup = Cgroup.make(this.record.cgroup);
    this.#cgroup = cgroup;
    // The next run of local mode finds what has no cgroup.
    this.#atExit = cgroup && killedAtExit(() => killMembers(cgroup));
  }

  /** The same launch, with the mark, and in the cgroup: in the part of it that the process `pid` is in then. */
  enclose(launch: Launch, pid?: number): Launch {
    const cgroup = this.#cgroup;
    const marked = { ...launch, environment: { ...launch.environment, [markName]: this.record.mark } };
    return cgroup ? { ...marked, spawnWithin: (spawn) => cgroup.within(spawn, pid) } : marked;
  }

  /** Kills processes until none is left. Resolves with those that could not be killed within two seconds. */
  async end(clock: Clock): Promise<{ readonly killed: number; readonly left: readonly number[] }> {
    const killed = new Set<number>();
    let left: readonly number[] = [];
    for (let round = 0; round < roundsMax; round += 1) {
      left = [...new Set([...(this.#cgroup?.members() ?? []), ...(await this.#marked())])];
      if (left.length === 0 && !(await isAnyAlive(killed))) break;
      this.#cgroup?.kill();
      for (const pid of left) {
        killProcess(pid);
        killed.add(pid);
      }
      await clock.sleep(pauseMs);
    }
    this.#cgroup?.remove();
    this.#atExit?.[Symbol.dispose]();
    return { killed: killed.size, left };
  }

  /**
   * The processes of the machine that are in these containments, by pid. What is in a cgroup belongs to it, whatever its environment
   * says.
   */
  static async membersOf(containments: Iterable<Containment>): Promise<ReadonlyMap<number, Containment>> {
    const byMark = new Map([...containments].map((containment) => [containment.record.mark, containment]));
    const members = new Map<number, Containment>();
    for (const [pid, mark] of await environmentValues(markName)) {
      const containment = byMark.get(mark);
      if (containment) members.set(pid, containment);
    }
    for (const containment of byMark.values()) {
      for (const pid of containment.#cgroup?.members() ?? []) members.set(pid, containment);
    }
    return members;
  }

  async #marked(): Promise<readonly number[]> {
    return hasProc ? processesWith(`${markName}=${this.record.mark}`) : [];
  }
}

function killMembers(cgroup: Cgroup): void {
  cgroup.kill();
  for (const pid of cgroup.members()) killProcess(pid);
}

/** A killed process loses its environment, and with it the mark, before it closes its ports and ends. */
async function isAnyAlive(pids: Iterable<number>): Promise<boolean> {
  const facts = await Promise.all([...pids].map(readProcess));
  return facts.some((each) => each !== undefined && !each.zombie);
}

const nameOf = (mark: string): string => `rouse-${mark}`;
