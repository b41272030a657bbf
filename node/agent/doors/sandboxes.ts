import { join } from "node:path";
import { memoryImageAnnotation, runHashAnnotation } from "../../../api/rules/keys.ts";
import { parseExactJson } from "../../../lib/data/exact-json.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Files } from "./files.ts";
import type { Processes } from "./processes.ts";

/** What the node knows of a Pod in gVisor. */
export interface PodSandbox {
  /** The id of the container that holds the Pod together. */
  readonly id: string;
  /** The process that holds the memory of the Pod; undefined once it has ended. */
  readonly sentry: number | undefined;
  readonly isPaused: boolean;
  /** Whether runsc was killed while it wrote its state file. Then nobody can tell whether the Pod is paused, and runsc can do nothing with it. */
  readonly isTorn: boolean;
  /** Whether it runs under our shim, which ends a paused Pod. */
  readonly isOurs: boolean;
  /** The names of the containers that gVisor has. */
  readonly containers: readonly string[];
  /** Their ids at containerd. */
  readonly containerIds: readonly string[];
  /** The shim's hash of what each container runs, if it says one; the container without a name holds the Pod together. */
  readonly configs: Readonly<Record<string, string>>;
  /** Changes with the containers that gVisor has, and with what they do. */
  readonly containersAre: string;
  /** The processes that open the files of volumes for it. */
  readonly gofers: readonly number[];
  /** The mount on which the kernel keeps files that are memory alone, if the shim says it. */
  readonly memoryMount: string | undefined;
  /** The build of runsc that its sentry is of, if the shim says it. */
  readonly runsc: string | undefined;
  /** The annotations of the Pod that containerd has passed on: the memory that it asks for, and the hash of what it runs. */
  readonly passed: { readonly image?: string | undefined; readonly runHash?: string | undefined };
}

/** The parts that are read of a state file of runsc. */
interface State {
  readonly status?: string;
  readonly sandbox?: { readonly pid?: number | undefined };
  readonly goferPid?: number;
  readonly spec?: { readonly annotations?: Readonly<Record<string, string>> };
}

interface SandboxesParts {
  readonly files: Files;
  readonly processes: Processes;
  readonly clock: Pick<Clock, "now">;
}

/** Builds for other kinds of machines have a longer name. */
const shim = "containerd-shim-rouse-v1";
const sentryName = "runsc-sandbox";
/** runsc takes far less to write a state file. */
const writeLimitMs = 1_000;
const sandboxId = /^[0-9A-Za-z][-_.0-9A-Za-z]*$/;
const podUid = "io.kubernetes.cri.sandbox-uid";
/** What the agent or a shim had begun to write beside a state file. */
const unfinished = /\.state\.(?:agent|\d+)\.new$/;
const containerName = "io.kubernetes.cri.container-name";
/** Set by our shim, after the annotations of the Pod. */
const configHash = "hibernation.rouse.dev/config-hash";
const runscBuild = "hibernation.rouse.dev/runsc";
const memoryMountOf = "hibernation.rouse.dev/memory-mount";

/**
 * The Pods that gVisor runs on the node, from the state files of runsc. containerd sets the annotations in them, after those
 * of the Pod: no Pod can claim the identity of another.
 */
export class Sandboxes {
  readonly #files: Files;
  readonly #processes: Processes;
  readonly #root: string;
  readonly #clock: Pick<Clock, "now">;
  /** The UID of the Pod of each file: neither changes while the file is there. */
  readonly #uids = new Map<string, string>();

  constructor(root: string, { files, processes, clock }: SandboxesParts) {
    this.#root = root;
    this.#clock = clock;
    this.#files = files;
    this.#processes = processes;
  }

  /** The sandbox of a Pod. If it has several, for one that has ended may still be there, the one that lives. */
  async ofPod(uid: string): Promise<PodSandbox | undefined> {
    const names = await this.#stateFiles();
    const found: PodSandbox[] = [];
    for (const id of await this.#idsOf(uid, names)) {
      const sandbox = await this.#read(id, names);
      if (sandbox) found.push(sandbox);
    }
    return found.find(({ sentry }) => sentry !== undefined) ?? found[0];
  }

  /** The ids of all containers that gVisor has on the node. */
  async containerIds(): Promise<ReadonlySet<string>> {
    return new Set((await this.#stateFiles()).map(containerOf));
  }

  /** The sandbox of this id, which may come from a file of the shim. */
  async withId(id: string): Promise<PodSandbox | undefined> {
    return sandboxId.test(id) ? this.#read(id, await this.#stateFiles()) : undefined;
  }

  async #stateFiles(): Promise<readonly string[]> {
    const names = new Set((await this.#files.list(this.#root)).filter((name) => name.endsWith(".state")));
    for (const known of this.#uids.keys()) if (!names.has(known)) this.#uids.delete(known);
    return [...names];
  }

  async #read(id: string, names: readonly string[]): Promise<PodSandbox | undefined> {
    const known = await this.#state(stateFile(id));
    const isTorn = !known && (await this.#isTorn(stateFile(id)));
    if (!known && !isTorn) return undefined;
    const state = known ?? { sandbox: { pid: await this.#processes.find((command) => isSentry(command, id)) } };
    const sentry = await this.#sentryOf(id, state);
    const parent = sentry === undefined ? [] : await this.#processes.commandOf(this.#processes.parentOf(sentry));
    const files = names.filter((name) => name.endsWith(`_sandbox:${id}.state`) && name !== stateFile(id));
    const states = await Promise.all(files.map((name) => this.#state(name)));
    const containers = states.flatMap((of) => of ?? []);
    const containerNames = new Set(containers.flatMap((of) => annotationOf(of, containerName) ?? []));
    return {
      id,
      sentry,
      isPaused: state.status === "paused",
      isTorn,
      isOurs: parent[0]?.split("/").at(-1)?.startsWith(shim) === true,
      containers: [...containerNames].sort(),
      containerIds: files.map(containerOf),
      configs: configsOf([state, ...containers]),
      gofers: [state, ...containers].flatMap(({ goferPid }) => (goferPid ? [goferPid] : [])),
      runsc: annotationOf(state, runscBuild),
      memoryMount: annotationOf(state, memoryMountOf),
      passed: { image: annotationOf(state, memoryImageAnnotation), runHash: annotationOf(state, runHashAnnotation) },
      containersAre: files.map((name, index) => `${containerOf(name)} ${states[index]?.status ?? ""}`).join(),
    };
  }

  /** What an image of it takes at least; undefined if it cannot be seen. */
  async memoryBytesOf(sandbox: PodSandbox): Promise<number | undefined> {
    const { containersAre: containers, gofers, id, memoryMount, sentry } = sandbox;
    if (sentry === undefined) return 0;
    if (memoryMount === undefined) return undefined;
    return this.#processes.sentryBytesOf(sentry, { id, containers, memoryMount, gofers });
  }

  /** What its sentry has written of an image, also if the files have no name any more. */
  async writtenBytesOf({ sentry }: PodSandbox, part: string): Promise<number> {
    return sentry === undefined ? 0 : this.#processes.openBytesOf(sentry, part);
  }

  /**
   * Ends the sentry of a paused Pod. runsc neither kills nor deletes what its state file calls paused, so the file is
   * corrected first.
   */
  async end({ id, isTorn, sentry: ofTorn }: PodSandbox): Promise<void> {
    if (isTorn) return ofTorn === undefined ? undefined : this.#processes.end(ofTorn);
    const text = await this.#files.read(join(this.#root, stateFile(id)));
    if (text === undefined) return;
    const { value, restore } = parseExactJson(text); // it has integers that a number of JavaScript would round
    const state = value as State;
    if (state.status === "paused") {
      const corrected = restore(JSON.stringify({ ...state, status: "running" }));
      await this.#files.replace(join(this.#root, stateFile(id)), corrected);
    }
    const sentry = await this.#sentryOf(id, state);
    if (sentry !== undefined) this.#processes.end(sentry);
  }

  /** Removes what the agent or a shim had begun to write before that time, and has not ended: it was killed. */
  async removeUnfinished(beforeMs: number): Promise<void> {
    for (const name of (await this.#files.list(this.#root)).filter((name) => unfinished.test(name))) {
      const path = join(this.#root, name);
      if ((await this.#files.writtenMs(path)) < beforeMs) await this.#files.remove(path);
    }
  }

  async #idsOf(uid: string, names: readonly string[]): Promise<readonly string[]> {
    const found: string[] = [];
    for (const name of names) {
      const [, id] = /^(.+)_sandbox:\1\.state$/.exec(name) ?? [];
      if (id === undefined) continue;
      const of = this.#uids.get(name) ?? (await this.#uidIn(name)) ?? (await this.#uidOfTorn(id, names));
      if (of !== undefined) this.#uids.set(name, of);
      if (of === uid) found.push(id);
    }
    return found;
  }

  async #uidIn(name: string): Promise<string | undefined> {
    const state = await this.#state(name);
    return state && annotationOf(state, podUid);
  }

  /** The state files of the containers of a Pod tell its UID too. */
  async #uidOfTorn(id: string, names: readonly string[]): Promise<string | undefined> {
    if (!(await this.#isTorn(stateFile(id)))) return undefined;
    const ofContainers = names.filter((name) => name.endsWith(`_sandbox:${id}.state`));
    const found = await Promise.all(ofContainers.map((name) => this.#uidIn(name)));
    return found.find((uid) => uid !== undefined);
  }

  /** A file that is being written now is whole in a moment. */
  async #isTorn(name: string): Promise<boolean> {
    const writtenMs = await this.#files.writtenMs(join(this.#root, name));
    const isOld = Math.abs(this.#clock.now().getTime() - writtenMs) > writeLimitMs;
    return isOld && writtenMs > 0 && (await this.#state(name)) === undefined;
  }

  /** Not a process that has the number of the sentry by now. */
  async #sentryOf(id: string, { sandbox }: State): Promise<number | undefined> {
    if (!sandbox?.pid) return undefined;
    return isSentry(await this.#processes.commandOf(sandbox.pid), id) ? sandbox.pid : undefined;
  }

  /** A file that is being written now is read at the next look. */
  async #state(name: string): Promise<State | undefined> {
    const text = await this.#files.read(join(this.#root, name));
    try {
      return text === undefined ? undefined : (JSON.parse(text) as State);
    } catch {
      return undefined;
    }
  }
}

const isSentry = (command: readonly string[], id: string): boolean =>
  command[0] === sentryName && command.at(-1) === id;

const annotationOf = ({ spec }: State, key: string): string | undefined => spec?.annotations?.[key];

function configsOf(states: readonly State[]): Readonly<Record<string, string>> {
  const found = states.flatMap((state) => {
    const hash = annotationOf(state, configHash);
    return hash === undefined ? [] : [[annotationOf(state, containerName) ?? "", hash] as const];
  });
  return Object.fromEntries(found);
}

/** The id of the container that a state file is about. */
const containerOf = (name: string): string => name.split("_sandbox:", 1)[0] ?? "";

const stateFile = (id: string): string => `${id}_sandbox:${id}.state`;
