import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemoryImage, MemoryImageSpec } from "../../../api/kinds/memory-image.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation, runHashAnnotation } from "../../../api/rules/keys.ts";

/** The words that a process was started with. */
const words = (pid: number): string => readText(`/proc/${pid}/cmdline`);

/** The state of a process as in proc_pid_stat(5); empty if there is none. */
export const stateOf = (pid: number): string => {
  const stat = readText(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
};

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Of all Pods that do not say another one. */
const runHash = "h";
const publicKeys = "ed25519.pub";
const storeFile = "store.json";
/** The store of the node, which its disk has. */
export const labStore = { id: "5a0d0b0c-0000-4000-8000-00000000000a", replaces: [] } as const;
const usualShim = "/usr/bin/containerd-shim-rouse-v1";
/** Has a file open as gVisor has the memory of a Pod, and says its number. Then adds a line to its memory every 10 ms, without a process for each pause. Ends with the test's process. */
const count = `
exec 9>"\${0%/*}/memfd:runsc-memory-of-$1"
echo $$
exec >&2
n=$(tail -n 1 "$0")
while n=$((n+1)); do
  echo $n >> "$0"
  read -rt 0.01
  [ $? -gt 128 ] || exit
done`;
/** As the shim does: the sentry is its child. */
const shim = '(exec -a runsc-sandbox bash -c "$0" "$1" "$2") <&0 & wait';

export interface NewPod {
  readonly uid?: string;
  readonly shim?: string;
  /** What it goes on from; absent: it starts anew. */
  readonly memory?: string;
  /** The annotations that containerd passes on to the shim. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface LabPod {
  readonly id: string;
  readonly uid: string;
  readonly sentry: number;
}

/** A node with a stand-in for runsc: its Pods are real processes, and its files are real. */
export class NodeLab implements AsyncDisposable {
  readonly nodeName = "node-1";
  readonly namespace = "default";
  readonly storeRoot: string;
  readonly runsc: { readonly program: string; readonly root: string };
  readonly #folder = mkdtempSync(join(tmpdir(), "rouse-node-"));
  readonly #shims: ChildProcess[] = [];
  readonly #sentries: number[] = [];

  /** A store at another place is on a disk of its own. */
  constructor(storeRoot?: string) {
    this.storeRoot = storeRoot ?? join(this.#folder, "store");
    const program = join(import.meta.dirname, "..", "fakes", "fake-runsc.sh");
    this.runsc = { program, root: join(this.#folder, "runsc") };
    mkdirSync(this.runsc.root);
    mkdirSync(this.storeRoot, { recursive: true });
    writeFileSync(this.path(publicKeys), `${Buffer.alloc(32).toString("base64")}\n`);
    writeFileSync(this.path(storeFile), JSON.stringify(labStore));
  }

  /** Starts what the kubelet starts for a Pod in gVisor. */
  async startPod(pod: NewPod = {}): Promise<LabPod> {
    const { uid = randomUUID(), shim: argv0 = usualShim, memory: before = "" } = pod;
    const { annotations = { [runHashAnnotation]: runHash } } = pod;
    const id = randomUUID();
    const memory = join(this.runsc.root, `memory-of-${id}`);
    writeFileSync(memory, before);
    const child = spawn("bash", ["-c", shim, count, memory, id], { argv0, stdio: ["pipe", "pipe", "ignore"] });
    this.#shims.push(child);
    // By then both have run their exec.
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const sentry = Number(line.toString());
    this.#sentries.push(sentry);
    const spec = { annotations: { ...annotations, ...specOf(uid).annotations } };
    this.#writeState(id, id, { status: "running", sandbox: { id, pid: sentry }, spec });
    this.#writeState(`${id}-main`, id, { status: "running", sandbox: { id, pid: sentry }, spec: specOf(uid, "main") });
    return { id, uid, sentry };
  }

  #writeState(container: string, sandbox: string, state: object): void {
    // The largest number is one that JavaScript rounds.
    const text = JSON.stringify({ id: container, ...state }).replace(/\}$/, ',"hard":18446744073709551615}');
    writeFileSync(join(this.runsc.root, `${container}_sandbox:${sandbox}.state`), text);
  }

  /** The kubelet has a container of a Pod restarted: gVisor has another one in its place. */
  replaceContainer({ id, uid, sentry }: LabPod, next: string): void {
    rmSync(join(this.runsc.root, `${id}-main_sandbox:${id}.state`));
    this.#writeState(`${id}-${next}`, id, {
      ...{ status: "running", sandbox: { id, pid: sentry }, spec: specOf(uid, "main") },
    });
  }

  /** What runsc has written about a Pod. */
  stateText({ id }: LabPod): string {
    return readText(join(this.runsc.root, `${id}_sandbox:${id}.state`));
  }

  /** The lines that a Pod has in its memory. */
  memoryOf({ id }: LabPod): string {
    return readText(join(this.runsc.root, `memory-of-${id}`));
  }

  /** How often a command of runsc was called. */
  calls(command: "pause" | "resume" | "checkpoint"): number {
    return readText(join(this.runsc.root, `${command}.calls`)).length;
  }

  /** Whether a call of a command that `letFail` makes hang has come so far. */
  hasHung(command: "pause" | "resume" | "checkpoint"): boolean {
    return existsSync(join(this.runsc.root, `${command}.hung`));
  }

  letFail(command: "pause" | "resume" | "checkpoint", how: "fails" | "hangs" | "killed", message = ""): Disposable {
    const path = join(this.runsc.root, `${command}.${how}`);
    writeFileSync(path, message);
    return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
  }

  /** A path of the store; the files of an image lie in `images/default/guest`. */
  path(...names: readonly string[]): string {
    return join(this.storeRoot, ...names);
  }

  has(...names: readonly string[]): boolean {
    return existsSync(this.path(...names));
  }

  /** All files of the store, without folders. */
  files(): readonly string[] {
    const entries = readdirSync(this.storeRoot, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
    const names = paths.map((path) => path.slice(this.storeRoot.length + 1));
    return names.filter((name) => name !== publicKeys && name !== storeFile).sort();
  }

  /** What the shim writes when a Pod uses an image. */
  mark(
    image: string,
    mark: { readonly pod: string; readonly outcome: string; readonly reason?: string; readonly container?: string },
    container?: string,
  ) {
    mkdirSync(this.path("images", this.namespace, "guest"), { recursive: true });
    const file = `${image}${container ? `.${container}` : ""}.json`;
    writeFileSync(this.path("images", this.namespace, "guest", file), JSON.stringify({ container: "c", ...mark }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const sentry of this.#sentries) {
      if (words(sentry).startsWith("runsc-sandbox")) process.kill(sentry, "SIGKILL");
    }
    const ended = this.#shims.map((shim) => shim.exitCode ?? once(shim, "exit"));
    for (const shim of this.#shims) shim.kill("SIGKILL");
    await Promise.all(ended);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const specOf = (uid: string, name?: string) => ({
  annotations: {
    "io.kubernetes.cri.sandbox-uid": uid,
    "hibernation.rouse.dev/config-hash": `config of ${name ?? "the sandbox"}`,
    ...(name !== undefined && { "io.kubernetes.cri.container-name": name }),
    "hibernation.rouse.dev/memory-mount": mountOfTemporary(),
    "hibernation.rouse.dev/runsc": "v0.0.0-test",
  },
});

/** The kernel's number of the mount that has the folders of labs. */
function mountOfTemporary(): string {
  const file = openSync(tmpdir(), "r");
  try {
    return /^mnt_id:\s*(\d+)$/m.exec(readText(`/proc/self/fdinfo/${file}`))?.[1] ?? "";
  } finally {
    closeSync(file);
  }
}

export const sandboxUID = "5a0d0b0c-0000-4000-8000-000000000001";

type NodeOfPod = Pick<NodeLab, "nodeName" | "namespace">;

/** The Pod of a Sandbox, as the kubelet shows it once it runs. */
export function podOf(lab: NodeOfPod, uid: string, image?: string, owner = sandboxUID): Pod {
  return {
    metadata: {
      name: "guest",
      namespace: lab.namespace,
      uid,
      annotations: { [runHashAnnotation]: runHash, ...(image !== undefined && { [memoryImageAnnotation]: image }) },
      ownerReferences: [
        { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "guest", uid: owner, controller: true },
      ],
    },
    spec: { nodeName: lab.nodeName, runtimeClassName: "gvisor", containers: [{ name: "main", image: "busybox" }] },
    status: { phase: "Running" },
  };
}

export function imageOf(lab: NodeOfPod, podUID: string, changes: Partial<MemoryImageSpec> = {}): MemoryImage {
  return {
    metadata: { name: "g1", namespace: lab.namespace },
    spec: {
      ...{ sandboxUID, podName: "guest", podUID, nodeName: lab.nodeName, runHash, timeoutSeconds: 10 },
      ...{ stage: "Preflight", ...changes },
    },
  };
}
