import { execFileSync, spawn } from "node:child_process";
import { createHash, createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import { signingSecretName } from "../../../api/between-programs/memory-keys.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation, signatureAnnotation, signingGate } from "../../../api/rules/keys.ts";
import type { Command } from "../../../cluster/daemon.ts";
import { inNamespace } from "../../../cluster/machine/mount-namespace.ts";
import { nodeName } from "../../../cluster/network.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { signPermit } from "../../../controller/suspension/hibernation/permit.ts";
import { clusterLayout } from "../e2e/support/components.ts";
import type { ClusterUnderTest } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { commandOf, isSentry, processesWith, textOf } from "../support/node-processes.ts";

// What the agent of a node does for a capture, by hand. The file names are the contract of node/shim/README.md.

const store = "lib/rouse/images";

/** The processes of gVisor's kernel in the cgroup of a Pod. */
export const sentriesOf = (uid: string): readonly string[] =>
  processesWith(isSentry).filter((pid) => textOf(`/proc/${pid}/cgroup`).includes(uid));

function runscPath(): string {
  const { gvisor } = inject("programs");
  if (!gvisor) throw new Error("the cluster has no gVisor");
  return gvisor.runsc;
}

/** A process that sees the files of the node as containerd does. */
const keeper = (): number => Number.parseInt(textOf(clusterLayout().process("mount-namespace")), 10);

/** A command that sees them. */
const onNode = (command: Command): Command => inNamespace(keeper(), command);

const runscRoot = "/run/containerd/runsc/k8s.io";

/** What the shim says of each container of a sandbox: the hash of what it runs, by its name. */
function configsOf(sandbox: string): Readonly<Record<string, string>> {
  const folder = join(`/proc/${keeper()}/root`, runscRoot);
  const files = readdirSync(folder).filter((name) => name.endsWith(`_sandbox:${sandbox}.state`));
  const found = files.map((file) => {
    const { annotations } = JSON.parse(textOf(join(folder, file))).spec;
    return [annotations["io.kubernetes.cri.container-name"] ?? "", annotations["hibernation.rouse.dev/config-hash"]];
  });
  return Object.fromEntries(found);
}

/** Runs runsc where containerd runs it. Its output goes nowhere: a pipe would stay open in the processes it starts. */
async function runsc(...args: readonly string[]): Promise<void> {
  const command = onNode({ program: runscPath(), args: [`--root=${runscRoot}`, ...args] });
  const [code] = await once(spawn(command.program, command.args, { stdio: "ignore" }), "exit");
  if (code !== 0) throw new Error(`runsc ${args.join(" ")} ended with ${code}`);
}

/** The stamp of the build. */
function runscVersion(): string {
  const [, version] = /^runsc version (\S+)/.exec(execFileSync(runscPath(), ["--version"], { encoding: "utf8" })) ?? [];
  if (!version) throw new Error("runsc has no version");
  return version;
}

const ofAgents = [`--namespace=${release.namespace}`, "--selector=app=rouse-node-agent"] as const;
const nodeLabel = "hibernation.rouse.dev/node";

/** Waits until the agent of the node runs, and knows the Pods. */
export const agentIsReady = ({ kubectl }: ClusterUnderTest): Promise<unknown> =>
  eventually(() => kubectl.succeeds(["wait", "pod", ...ofAgents, "--for=condition=Ready", "--timeout=5s"]));

/** Has the node without its agent, so that nothing but the test touches its images. Disposing brings the agent back. */
export async function withoutAgent(cluster: ClusterUnderTest): Promise<AsyncDisposable> {
  const label = (value: string) => cluster.kubectl.run(["label", "node", nodeName, value, "--overwrite"]);
  await label(`${nodeLabel}-`);
  const pods = () => cluster.kubectl.run(["get", "pods", ...ofAgents, "--output=name"]);
  await eventually(async () => (await pods()) === "", 120_000);
  return {
    async [Symbol.asyncDispose]() {
      await label(`${nodeLabel}=true`);
      await agentIsReady(cluster);
    },
  };
}

const podPolicy = ["validatingadmissionpolicybinding", "rouse-controller-alone-asks-for-memory"] as const;

/** Has the cluster without the policy by which only the controller may make a Pod ask for memory. Disposing brings it back. */
export async function withoutPodPolicy({ kubectl }: ClusterUnderTest): Promise<AsyncDisposable> {
  const { apiVersion, kind, metadata, spec } = JSON.parse(await kubectl.run(["get", ...podPolicy, "--output=json"]));
  const { name, labels, annotations } = metadata;
  await kubectl.run(["delete", ...podPolicy]);
  const binding = JSON.stringify({ apiVersion, kind, metadata: { name, labels, annotations }, spec });
  return {
    async [Symbol.asyncDispose]() {
      await kubectl.run(["create", "--filename=-"], binding);
    },
  };
}

/** Applies objects to a namespace as the controller does: only the controller may write what asks for memory. */
export async function applyAsController<T extends { readonly metadata: object }>(
  { kubectl }: ClusterUnderTest,
  namespace: string,
  object: T,
): Promise<void> {
  const text = JSON.stringify({ ...object, metadata: { ...object.metadata, namespace } });
  await kubectl.run(["apply", "--server-side", "--force-conflicts", "--filename=-", asController], text);
}

export const asController = `--as=system:serviceaccount:${release.namespace}:agent-sandbox-controller`;

interface CapturedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The path of an image, as this machine sees it. */
export const imageFolder = ({ namespace, name }: Omit<CapturedPod, "uid">, image: string): string =>
  join(clusterLayout().var, store, namespace, name, image);

export const pause = (uid: string): Promise<void> => runsc("pause", commandOf(sentriesOf(uid)[0] ?? "").at(-1) ?? "");

/** Pauses a Pod and writes its image. The Pod stays paused. */
export async function capture(pod: CapturedPod, image: string): Promise<string> {
  const [sentry = ""] = sentriesOf(pod.uid);
  const sandbox = commandOf(sentry).at(-1) ?? "";
  const folder = imageFolder(pod, image);
  await mkdir(folder, { recursive: true });
  await runsc("pause", sandbox);
  const path = join("/var", store, pod.namespace, pod.name, image);
  await runsc("checkpoint", "--leave-running", "--compression=none", `--image-path=${path}`, sandbox);
  const facts = (file: string) => {
    const bytes = readFileSync(join(folder, file));
    return { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  };
  const files = Object.fromEntries(readdirSync(folder).map((file) => [file, facts(file)]));
  const described = { runsc: runscVersion(), containers: ["main"], files, configs: configsOf(sandbox) };
  const description = { ...described, sandboxUID: "s", runHash: "h" };
  writeFileSync(join(folder, "image.json"), JSON.stringify(description));
  return folder;
}

const textOfSecret = ({ kubectl }: ClusterUnderTest) =>
  kubectl.run([
    ...["get", "secret", signingSecretName, `--namespace=${release.namespace}`],
    "--output=jsonpath={.data.ed25519\\.key}",
  ]);

/** Starts a Pod as the controller does: with a gate, and then with a signature for its UID. */
export async function startSigned(
  cluster: ClusterUnderTest,
  namespace: string,
  pod: Pod & { readonly metadata: { readonly name: string } },
): Promise<void> {
  const { name, annotations = {} } = pod.metadata;
  const image = annotations[memoryImageAnnotation] ?? "";
  await applyAsController(cluster, namespace, {
    ...pod,
    spec: { ...pod.spec, schedulingGates: [{ name: signingGate }] },
  });
  const inTest = (...args: string[]) => cluster.kubectl.run([...args, `--namespace=${namespace}`]);
  const podUID = await inTest("get", "pod", name, "--output=jsonpath={.metadata.uid}");
  const text = textOf(join(imageFolder({ namespace, name }, image), "image.json"));
  const { runsc = "", sandboxUID = "", runHash = "" } = JSON.parse(text || "{}");
  const imageHash = createHash("sha256").update(text).digest("hex");
  const key = createPrivateKey(Buffer.from(await textOfSecret(cluster), "base64").toString("utf8"));
  const of = { podUID, namespace, podName: name, sandboxUID, image, imageHash, runHash, runscVersion: runsc };
  const patch = {
    metadata: { annotations: { [signatureAnnotation]: signPermit(of, key) } },
    spec: { schedulingGates: null },
  };
  await inTest("patch", "pod", name, "--type=merge", `--patch=${JSON.stringify(patch)}`, asController);
}

/** Why the shim has not restored the last Pod that asked for an image without a right to. */
export const refusalOf = (folder: string): { readonly reason?: string; readonly message?: string } =>
  JSON.parse(textOf(`${folder}.refused`) || "{}");

/** What the shim's mark says of a container of an image; without a name, of the Pod. */
export function markOf(folder: string, container?: string): { readonly outcome: string; readonly reason?: string } {
  return JSON.parse(textOf(`${folder}${container ? `.${container}` : ""}.json`) || `{"outcome":"none"}`);
}
