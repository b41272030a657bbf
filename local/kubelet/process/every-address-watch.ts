import type { Clock, Timer } from "../../../lib/time/clock.ts";
import { Containment } from "./containment.ts";
import { type ListeningSocket, listenersOnEveryAddress, readListening } from "./listening-sockets.ts";
import { listProcesses, type ProcessFacts, socketInodes } from "./proc.ts";

/**
 * Times of the first checks after the start, in milliseconds: a program usually opens its ports soon after its start.
 */
const firstChecksMs = [20, 60, 140, 300, 600, 1_200, 2_500, 5_000, 10_000];
const laterChecksMs = 30_000;
/** The checks may take at most this share of the time, also on a machine with very many connections. */
const shareOfTime = 0.5;
/**
 * A socket is a stranger's once so many checks have found no owner in a container: one check misses a process that starts, or hands its
 * socket to a child, while the check runs.
 */
const missesOfStranger = 2;

/** The processes of one run of a container. */
export interface WatchedRun {
  /** The process group of its head. */
  readonly groupId: number;
  /** Finds its daemons, which have left the group. */
  readonly containment: Containment;
}

export interface FoundListener {
  readonly port: number;
  /** The processes that have the socket open; they may have left the group. */
  readonly pids: readonly number[];
}

/**
 * Finds programs that listen on every address of the machine: such a program would answer for every Pod. It reads
 * Linux's lists of sockets. On other systems it finds nothing.
 *
 * A check reads one or two small files for all programs together. The processes are inspected only for a socket that is
 * new.
 */
export class EveryAddressWatch implements Disposable {
  readonly #clock: Clock;
  readonly #groups = new Map<number, WatchedGroup>();
  /** How many checks have found no owner of a socket, by its inode. */
  #misses: ReadonlyMap<string, number> = new Map();
  #checking: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #restMs = 0;
  #checkedMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Checks a run of a container until disposed, and calls `found` when a process of it listens on every address. */
  watch({ groupId, containment }: WatchedRun, found: (listener: FoundListener) => void): Disposable {
    const checkAgain = (nth: number): Timer => {
      const atMs = firstChecksMs[nth];
      const delayMs = atMs === undefined ? laterChecksMs : atMs - (firstChecksMs[nth - 1] ?? 0);
      return this.#clock.after(delayMs, () => {
        entry.timer = checkAgain(nth + 1);
        // One check covers all groups, so idle groups share one.
        if (atMs !== undefined || this.#clock.ticksMs() - this.#checkedMs >= laterChecksMs / 2) void this.check();
      });
    };
    const entry: WatchedGroup = { containment, found, timer: checkAgain(0) };
    this.#groups.set(groupId, entry);
    return {
      [Symbol.dispose]: () => {
        entry.timer.cancel();
        if (this.#groups.get(groupId) === entry) this.#groups.delete(groupId);
      },
    };
  }

  /** Resolves when every current listener has been checked. Concurrent callers share one check. */
  check(): Promise<void> {
    if (!this.#checking) return this.#begin();
    // The check in progress may have read the list before the caller's listener.
    this.#next ??= this.#checking.then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#groups.values()) timer.cancel();
    this.#groups.clear();
  }

  #begin(): Promise<void> {
    this.#checking = this.#checkOnce().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #checkOnce(): Promise<void> {
    if (this.#groups.size === 0) return;
    if (this.#restMs > 1) await this.#clock.sleep(this.#restMs);
    const beganMs = this.#clock.ticksMs();
    this.#checkedMs = beganMs;
    const texts = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map(readListening));
    const sockets = texts.flatMap(listenersOnEveryAddress);
    const missesOf = (inode: string) => this.#misses.get(inode) ?? 0;
    const unknown = sockets.filter(({ inode }) => missesOf(inode) < missesOfStranger);
    const owners = unknown.length > 0 ? await this.#ownersOf(unknown) : new Map<string, Owner>();
    const missed = sockets.filter(({ inode }) => !owners.has(inode));
    this.#misses = new Map(missed.map(({ inode }) => [inode, Math.min(missesOf(inode) + 1, missesOfStranger)]));
    this.#restMs = (this.#clock.ticksMs() - beganMs) * (1 / shareOfTime - 1);
    for (const { inode, port } of unknown) {
      const owner = owners.get(inode);
      if (owner) this.#groups.get(owner.groupId)?.found({ port, pids: owner.pids });
    }
  }

  /** The group of each socket, by inode. */
  async #ownersOf(sockets: readonly ListeningSocket[]): Promise<ReadonlyMap<string, Owner>> {
    const members = groupMembers(await listProcesses(), new Set(this.#groups.keys()));
    const owners = await ownersAmong(members, sockets);
    const rest = sockets.filter(({ inode }) => !owners.has(inode));
    if (rest.length === 0) return owners;
    return new Map([...owners, ...(await ownersAmong(await this.#daemons(members), rest))]);
  }

  /** The group of each process that has left its group and session, and whose parent has ended. */
  async #daemons(known: ReadonlyMap<number, number>): Promise<ReadonlyMap<number, number>> {
    const groupIds = new Map([...this.#groups].map(([groupId, { containment }]) => [containment, groupId]));
    const daemons = new Map<number, number>();
    for (const [pid, containment] of await Containment.membersOf(groupIds.keys())) {
      const groupId = groupIds.get(containment);
      if (groupId !== undefined && !known.has(pid)) daemons.set(pid, groupId);
    }
    return daemons;
  }
}

interface WatchedGroup {
  readonly containment: Containment;
  readonly found: (listener: FoundListener) => void;
  timer: Timer;
}

async function ownersAmong(
  members: ReadonlyMap<number, number>,
  sockets: readonly ListeningSocket[],
): Promise<ReadonlyMap<string, Owner>> {
  const owners = new Map<string, Owner>();
  for (const [pid, groupId] of members) {
    const open = await socketInodes(pid);
    for (const { inode } of sockets) {
      if (open.has(inode)) owners.set(inode, { groupId, pids: [...(owners.get(inode)?.pids ?? []), pid] });
    }
  }
  return owners;
}

interface Owner {
  readonly groupId: number;
  readonly pids: readonly number[];
}

/** The group of each process: by process group, by session, or as a descendant of such a process. */
export function groupMembers(
  processes: readonly ProcessFacts[],
  groupIds: ReadonlySet<number>,
): ReadonlyMap<number, number> {
  const byPid = new Map(processes.map((facts) => [facts.pid, facts]));
  const members = new Map<number, number>();
  for (const facts of processes) {
    const seen = new Set<number>();
    for (let at: ProcessFacts | undefined = facts; at && !seen.has(at.pid); at = byPid.get(at.parentPid)) {
      seen.add(at.pid);
      const groupId = [at.groupId, at.sessionId].find((id) => groupIds.has(id));
      if (groupId === undefined) continue;
      members.set(facts.pid, groupId);
      break;
    }
  }
  return members;
}
