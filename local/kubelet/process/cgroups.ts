import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** A hierarchy of cgroups v1 that tracks processes and sets no limits itself, in order of preference. */
const trackingControllers = ["pids", "freezer", "name=systemd"] as const;

/**
 * The directory in which this process may create cgroups: below its own, in the unified hierarchy (cgroups v2, also on
 * a machine that has v1 beside it), else in one of v1. Undefined if the system has none.
 *
 * `mounts` is `/proc/self/mountinfo` (proc(5)), `own` is `/proc/self/cgroup` (cgroups(7)).
 */
export function ownCgroup(mounts: string, own: string): string | undefined {
  const paths = new Map(
    own.split("\n").flatMap((line) => {
      const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      return path === "" ? [] : [[controllers, path] as const];
    }),
  );
  const mounted = mounts.split("\n").flatMap((line) => mountOf(line) ?? []);
  const unified = mounted.find(({ type }) => type === "cgroup2");
  if (unified) return below(unified, paths.get("") ?? "/");
  for (const controller of trackingControllers) {
    const mount = mounted.find(({ type, options }) => type === "cgroup" && options.includes(controller));
    const path = [...paths].find(([controllers]) => controllers.split(",").includes(controller))?.[1];
    if (mount && path !== undefined) return below(mount, path);
  }
  return undefined;
}

interface Mount {
  readonly type: string;
  /** The part of the hierarchy that is mounted. */
  readonly root: string;
  readonly at: string;
  readonly options: readonly string[];
}

function mountOf(line: string): Mount | undefined {
  const [before = "", after] = line.split(" - ");
  const [, , , root, at] = before.split(" ");
  const [type, , options = ""] = after?.split(" ") ?? [];
  if (root === undefined || at === undefined || type === undefined) return undefined;
  return { type, root, at, options: options.split(",") };
}

function below({ root, at }: Mount, path: string): string {
  const isInside = root !== "/" && path.startsWith(`${root}/`);
  return join(at, isInside ? path.slice(root.length) : path === root ? "/" : path);
}

/** Lists the processes of a cgroup. A process whose pid is written to it joins the cgroup. */
const membersFile = "cgroup.procs";

/** The directory of the cgroup that a process is in now; undefined if the process is gone, or the system has no cgroups. */
function cgroupOf(pid: number | "self"): string | undefined {
  try {
    return ownCgroup(readFileSync("/proc/self/mountinfo", "utf8"), readFileSync(`/proc/${pid}/cgroup`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Whether its processes do not run: in v2 by its own setting or that of a parent, in v1 by the state of a freezer. */
function isFrozen(path: string): boolean {
  const has = (file: string, line: RegExp) => {
    try {
      return line.test(readFileSync(join(path, file), "utf8"));
    } catch {
      return false;
    }
  };
  return has("cgroup.freeze", /^1/) || has("cgroup.events", /^frozen 1$/m) || has("freezer.state", /^FR/);
}

/** Moves this process to another cgroup. False if this is not allowed. */
function moveTo(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: "r+" });
    return true;
  } catch {
    return false;
  }
}

/** The cgroup of one run of a container. Its processes stay in it: only root can leave a cgroup. */
export class Cgroup {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Where `make` creates a cgroup of this name now; undefined if this user may not create one. */
  static placeFor(name: string): string | undefined {
    try {
      const parent = cgroupOf("self");
      if (parent === undefined) return undefined;
      accessSync(join(parent, membersFile), constants.W_OK); // so that `within` can return
      return join(parent, name);
    } catch {
      return undefined;
    }
  }

  /** Creates one where `placeFor` said. Undefined if this user may not. */
  static make(path: string | undefined): Cgroup | undefined {
    if (path === undefined) return undefined;
    try {
      mkdirSync(path);
      return new Cgroup(path);
    } catch {
      return undefined;
    }
  }

  /** Opens a cgroup that an earlier process created; undefined if it is gone or has another name. */
  static find(path: string, name: string): Cgroup | undefined {
    return basename(path) === name && existsSync(join(path, membersFile)) ? new Cgroup(path) : undefined;
  }

  /**
   * Calls `start` while this process is in the cgroup: what it starts is in it from its first instruction, with all
   * descendants. A process that joins after its start could have left a daemon outside before. With the `pid` of a process of the
   * container, that is the cgroup that this process is in now: a container may divide its cgroup, and may then start nothing
   * above the parts.
   *
   * @throws Error if the container has ended, or is frozen: in a frozen cgroup this process would stop, too.
   */
  within<T>(start: () => T, pid?: number): T {
    const path = this.#placeOf(pid);
    if (!existsSync(join(path, membersFile))) throw new Error("the container has ended");
    if (isFrozen(path)) throw new Error("the container is frozen");
    const now = cgroupOf("self");
    const left = now === undefined || this.#has(now) ? dirname(this.path) : now;
    if (!moveTo(join(path, membersFile))) return start();
    try {
      return start();
    } finally {
      if (!moveTo(join(left, membersFile))) moveTo(join(dirname(this.path), membersFile));
    }
  }

  members(): readonly number[] {
    return this.#pids().filter((pid) => pid !== process.pid);
  }

  /** The cgroup of that process if it is a part of this one, else this one. */
  #placeOf(pid: number | undefined): string {
    const place = pid === undefined ? undefined : cgroupOf(pid);
    return place !== undefined && this.#has(place) ? place : this.path;
  }

  #has(path: string): boolean {
    return path === this.path || path.startsWith(`${this.path}/`);
  }

  /** This cgroup and its parts, each before its own parts. */
  #parts(): readonly string[] {
    const found = [this.path];
    // The list grows while it is read.
    for (const path of found) {
      try {
        const inside = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
        found.push(...inside.map(({ name }) => join(path, name)));
      } catch {
        // It is gone.
      }
    }
    return found;
  }

  /** Kills all processes at once, if the system supports it (Linux 5.14, cgroups v2). */
  kill(): void {
    if (this.#pids().includes(process.pid)) return; // it could not return from `within`
    try {
      // `r+` does not create the file: in v1 there is no cgroup.kill.
      writeFileSync(join(this.path, "cgroup.kill"), "1", { flag: "r+" });
    } catch {
      // The caller kills each member.
    }
  }

  /** Fails silently while processes are left in it. */
  remove(): void {
    for (const path of this.#parts().toReversed()) {
      try {
        rmdirSync(path);
      } catch {
        // The record of the container finds the remaining processes.
      }
    }
  }

  #pids(): readonly number[] {
    return this.#parts().flatMap((path) => {
      try {
        return readFileSync(join(path, membersFile), "utf8").split("\n").filter(Boolean).map(Number);
      } catch {
        return [];
      }
    });
  }
}
