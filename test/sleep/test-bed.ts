import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leaseType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import { isSuspensionComplete } from "../../api/rules/suspension.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { writeDrainFiles } from "../programs/drain-files.ts";
import { writeKubeconfig } from "../programs/kubeconfig.ts";
import { eventually } from "../support/eventually.ts";
import { type MemoryApi, openMemoryApi } from "../support/memory-api.ts";
import { ActivatorReplica } from "./activator-replica.ts";
import { ApiGate } from "./api-gate.ts";
import { ControllerReplica } from "./controller-replica.ts";
import { InProcessNode, type InProcessNodeOptions, type PodTimes } from "./in-process-node.ts";

const system = "agent-sandbox-system";
const leaseName = "a3317529.agent-sandbox.x-k8s.io";
/** The namespace of the sandboxes. */
export const home = "default";

export interface TestBedOptions {
  readonly controllers?: number;
  /** Of the controllers. Default: 2. A busy process loses a shorter lease. */
  readonly leaseSeconds?: number;
  readonly activators?: number;
  readonly controllerFlags?: readonly string[];
  /** The flags of all activators, or a function of the address of each. */
  readonly activatorFlags?: readonly string[] | ((host: string) => readonly string[]);
  /** The program to start as an activator. Absent: the activator. */
  readonly activatorMain?: string;
  /** Called with each log line of the activators. */
  readonly onActivatorLine?: (line: string) => void;
  /** Called with the last line of each controller that exits by itself. */
  readonly onControllerEnd?: (lastWords: string) => void;
  readonly podTimes?: (podName: string) => PodTimes;
  /** The programs of the Pods, as for the node. */
  readonly podPrograms?: InProcessNodeOptions["programs"];
}

/** Short, so that another controller leads soon. */
const leaseFlags = (seconds: number) => [
  `--leader-elect-lease-duration=${seconds}s`,
  `--leader-elect-renew-deadline=${seconds * 750}ms`,
  `--leader-elect-retry-period=${seconds * 100}ms`,
];

/**
 * Controllers and activators as processes of their own, with flags, certificates and Pods as on a cluster; an API server in
 * memory, and a node that runs sandboxes as servers.
 */
export class TestBed implements AsyncDisposable {
  readonly api: MemoryApi;
  readonly node: InProcessNode;
  readonly controllers: ControllerReplica[] = [];
  readonly activators: ActivatorReplica[] = [];
  readonly #directory: string;
  readonly #drainFiles: readonly string[];
  readonly #options: TestBedOptions;
  readonly #stack: AsyncDisposableStack;
  #made = 0;

  private constructor(
    parts: { readonly api: MemoryApi; readonly node: InProcessNode; readonly directory: string },
    drainFiles: readonly string[],
    options: TestBedOptions,
    stack: AsyncDisposableStack,
  ) {
    this.api = parts.api;
    this.node = parts.node;
    this.#directory = parts.directory;
    this.#drainFiles = drainFiles;
    this.#options = options;
    this.#stack = stack;
  }

  static async open(options: TestBedOptions = {}): Promise<TestBed> {
    await using stack = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "rouse-bed-"));
    stack.defer(() => rmSync(directory, { recursive: true, force: true }));
    const api = stack.use(await openMemoryApi());
    const node = stack.use(
      new InProcessNode({
        client: api.client,
        namespace: home,
        ...(options.podTimes && { times: options.podTimes }),
        ...(options.podPrograms && { programs: options.podPrograms }),
      }),
    );
    const drainFiles = await writeDrainFiles({ client: api.client, namespace: system, directory });
    const bed = new TestBed({ api, node, directory }, drainFiles, options, stack.move());
    await Promise.all([
      ...Array.from({ length: options.controllers ?? 1 }, () => bed.startController()),
      ...Array.from({ length: options.activators ?? 1 }, () => bed.startActivator()),
    ]).catch(async (error: unknown) => {
      await bed[Symbol.asyncDispose]();
      throw error;
    });
    return bed;
  }

  get client(): KubeClient {
    return this.api.client;
  }

  async startController(): Promise<ControllerReplica> {
    const { gate, kubeconfig } = await this.#gate();
    const flags = [...leaseFlags(this.#options.leaseSeconds ?? 2), ...(this.#options.controllerFlags ?? [])];
    const controller = new ControllerReplica({
      ...{ namespace: system, gate, kubeconfig, flags },
      ...(this.#options.onControllerEnd && { onEnd: this.#options.onControllerEnd }),
    });
    this.#stack.defer(() => controller.stop());
    this.controllers.push(controller);
    await controller.program.started;
    return controller;
  }

  async startActivator(): Promise<ActivatorReplica> {
    const { gate, kubeconfig, name } = await this.#gate();
    const { activatorFlags = [], activatorMain: main, onActivatorLine: hear } = this.#options;
    const flags = typeof activatorFlags === "function" ? activatorFlags : () => activatorFlags;
    const { client } = this;
    const common = { client, namespace: system, name, gate, kubeconfig, drainFiles: this.#drainFiles, flags };
    const activator = new ActivatorReplica({ ...common, ...(main !== undefined && { main }), ...(hear && { hear }) });
    this.#stack.defer(async () => {
      activator.program.goOn();
      await activator.program.kill();
    });
    this.activators.push(activator);
    return activator.create();
  }

  /** The controller that holds the lease. */
  async leader(): Promise<ControllerReplica> {
    let found: ControllerReplica | undefined;
    await eventually(async () => {
      const holder = await this.#leaseHolder();
      for (const controller of this.controllers) {
        if (controller.program.runs && (await controller.identity().catch(() => "")) === holder) found = controller;
      }
      return found !== undefined;
    }, 30_000);
    if (!found) throw new Error("no controller leads");
    return found;
  }

  create(name: string, spec: Partial<SandboxSpec>): Promise<Stored<Sandbox>> {
    return this.client.create(sandboxType, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace: home, name },
      spec: { podTemplate: { spec: { containers: [{ name: "main", image: "workload" }], nodeName: "bed" } }, ...spec },
    });
  }

  sandbox(name: string): Promise<Stored<Sandbox>> {
    return this.client.get(sandboxType, { namespace: home, name });
  }

  async change(name: string, spec: object): Promise<Stored<Sandbox>> {
    return this.client.patch(sandboxType, { namespace: home, name }, { type: "merge", body: { spec } });
  }

  async untilAsleep(name: string, limitMs = 30_000): Promise<void> {
    await eventually(async () => isSuspensionComplete(await this.sandbox(name)), limitMs);
  }

  async untilReady(name: string, limitMs = 30_000): Promise<void> {
    await eventually(async () => {
      const { status, metadata } = await this.sandbox(name);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      return ready?.status === "True" && ready.observedGeneration === metadata.generation;
    }, limitMs);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#stack.disposeAsync();
  }

  async #gate(): Promise<{ readonly gate: ApiGate; readonly kubeconfig: string; readonly name: string }> {
    this.#made += 1;
    const name = `program-${this.#made}`;
    const gate = this.#stack.use(await new ApiGate(this.api.url).start());
    const kubeconfig = writeKubeconfig(this.#directory, gate.url, `${name}.kubeconfig`);
    return { gate, kubeconfig, name };
  }

  async #leaseHolder(): Promise<string | undefined> {
    const { items } = await this.client.list(leaseType, { namespace: system });
    return items.find(({ metadata }) => metadata.name === leaseName)?.spec?.holderIdentity;
  }
}
