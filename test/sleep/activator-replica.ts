import { drainPortDefault } from "../../api/between-programs/drain-credentials.ts";
import { podType } from "../../api/kinds/core.ts";
import type { ContainerStatus, PodStatus } from "../../api/kinds/pod.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ChildProgram } from "../programs/child-program.ts";
import { nextLoopbackAddress } from "../support/sockets/loopback-address.ts";
import type { ApiGate } from "./api-gate.ts";

export interface ReplicaOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly gate: ApiGate;
  readonly kubeconfig: string;
  /** Files of the drain listener, by the flag that names each. */
  readonly drainFiles: readonly string[];
  /** The flags for an activator at this address. */
  readonly flags: (host: string) => readonly string[];
  /** The program to start instead of the activator. */
  readonly main?: string;
  /** Called with each line of its log. */
  readonly hear?: (line: string) => void;
}

const httpPort = 8080;
const opsPort = 8081;

/** One activator as a process of its own, with a Pod so that the controller finds it. The test bed is its kubelet. */
export class ActivatorReplica {
  readonly name: string;
  readonly host = nextLoopbackAddress();
  readonly gate: ApiGate;
  readonly #options: ReplicaOptions;
  #program: ChildProgram | undefined;
  /** The number of times that its process was killed. */
  deaths = 0;
  /** Whether clients would be routed to it. */
  ready = false;
  /** When it last became ready, by the monotonic clock. */
  readySinceMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.name = options.name;
    this.gate = options.gate;
  }

  get port(): number {
    return httpPort;
  }

  get program(): ChildProgram {
    if (!this.#program) throw new Error(`${this.name} was not started`);
    return this.#program;
  }

  /** Creates its Pod and starts it; resolves once it is ready. */
  async create(): Promise<this> {
    const { client, namespace, name } = this.#options;
    await client.create(podType, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name, labels: { app: "sandbox-router" } },
      spec: { containers: [{ name: "router", image: "rouse" }], nodeName: "bed" },
    });
    await this.start();
    return this;
  }

  /** Starts its container, as the kubelet does at each restart; resolves once it is ready. */
  async start(): Promise<void> {
    const { kubeconfig, drainFiles, flags, main = "activator/main.ts", hear } = this.#options;
    const args = [
      `--kubeconfig=${kubeconfig}`,
      `--http-bind-address=${this.host}:${httpPort}`,
      `--health-probe-bind-address=${this.host}:${opsPort}`,
      "--metrics-bind-address=",
      `--drain-bind-address=${this.host}:${drainPortDefault}`,
      `--tcp-front-bind-address=${this.host}`,
      ...drainFiles,
      "--authz-mode=allow-all",
      "--allow-loopback-pod-ip",
      "--access-log=false",
      "--http2",
      "--drain-settle=0s",
      "--log-level=warn",
      ...flags(this.host),
    ];
    this.#program = new ChildProgram(main, args, hear);
    await this.#report({ running: {} }, false);
    await this.untilReady();
    await this.#report({ running: {} }, true);
    this.ready = true;
    this.readySinceMs = performance.now();
  }

  /** Kills its process. Then reports that in the Pod's status as the kubelet does, unless the node is lost too. */
  async kill(reported = true): Promise<void> {
    this.deaths += 1;
    this.ready = false;
    await this.program.kill();
    if (reported) await this.#report({ terminated: { exitCode: 137 } }, false);
  }

  /** Reports the result of the readiness probe as its kubelet does, while its process continues. */
  async reportReady(ready: boolean): Promise<void> {
    await this.#report({ running: {} }, ready);
  }

  /** Kills its process and deletes its Pod. */
  async remove(): Promise<void> {
    const { client, namespace, name } = this.#options;
    this.deaths += 1;
    this.ready = false;
    await this.program.kill();
    await client.delete(podType, { namespace, name }, { gracePeriodSeconds: 0 });
  }

  /** Resolves once its `/readyz` succeeds. */
  untilReady(): Promise<void> {
    return this.program.untilServes(`http://${this.host}:${opsPort}/readyz`);
  }

  async metrics(): Promise<string> {
    const page = await fetch(`http://${this.host}:${opsPort}/metrics`);
    return page.text();
  }

  async #report(state: ContainerStatus["state"] & object, ready: boolean): Promise<void> {
    const { client, namespace, name } = this.#options;
    const status: PodStatus = {
      phase: "Running",
      podIP: this.host,
      podIPs: [{ ip: this.host }],
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: [{ name: "router", ready, restartCount: 0, image: "rouse", imageID: "rouse", state }],
    };
    const patch = { type: "merge", body: { status } } as const;
    await client.patch(podType, { namespace, name }, patch, { subresource: "status" });
  }
}
