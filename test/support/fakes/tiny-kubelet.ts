import { type Pod, podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { nextLoopbackAddress } from "../sockets/loopback-address.ts";

/** The program of a test's container: a server on the Pod's own address, until it is disposed of. */
export type Program = (podIp: string) => Promise<AsyncDisposable> | AsyncDisposable;

export interface TinyKubelet extends AsyncDisposable {
  /** Sets the program of the sandboxes with this name, in any namespace. Without a program a Pod only gets an address. */
  run(name: string, program: Program): void;
  /** Sets the status of the Pods with this name, instead of running and ready. */
  report(name: string, status: NonNullable<Pod["status"]>): void;
  /** Creates no Pod for sandboxes with this name, with the reason in their status, until `createRefusedPods`. */
  refuse(name: string, why: string): void;
  /** Creates the Pods that were refused. */
  createRefusedPods(name: string): void;
  /** The number of Pods that were created for sandboxes with this name. */
  made(name: string): number;
}

/** Stands for controller and kubelet: Pods are created, run and are deleted by `operatingMode`. */
export function startTinyKubelet(client: KubeClient): TinyKubelet {
  return new Kubelet(client);
}

class Kubelet implements TinyKubelet {
  readonly #client: KubeClient;
  readonly #programs = new Map<string, Program>();
  readonly #reports = new Map<string, NonNullable<Pod["status"]>>();
  readonly #made = new Map<string, number>();
  readonly #refusals = new Map<string, string>();
  readonly #refused = new Map<string, Stored<Sandbox>>();
  readonly #running = new Map<string, AsyncDisposable>();
  readonly #informer;
  #work: Promise<unknown> = Promise.resolve();

  constructor(client: KubeClient) {
    this.#client = client;
    const options = { client, type: sandboxType, indexes: {}, clock: systemClock, log: silentLogger };
    this.#informer = startInformer<Sandbox>(options);
    this.#informer.onChange(({ key, previous, current }) => {
      this.#work = this.#work.then(() => this.#sync(key, current, previous)).catch(() => {});
    });
  }

  run(name: string, program: Program): void {
    this.#programs.set(name, program);
  }

  report(name: string, status: NonNullable<Pod["status"]>): void {
    this.#reports.set(name, status);
  }

  refuse(name: string, why: string): void {
    this.#refusals.set(name, why);
  }

  createRefusedPods(name: string): void {
    this.#refusals.delete(name);
    for (const [key, sandbox] of this.#refused) {
      if (sandbox.metadata.name !== name) continue;
      this.#refused.delete(key);
      this.#work = this.#work.then(() => this.#start(key, sandbox)).catch(() => {});
    }
  }

  made(name: string): number {
    return this.#made.get(name) ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#informer[Symbol.asyncDispose]();
    await this.#work;
    await Promise.all([...this.#running.values()].map((program) => program[Symbol.asyncDispose]()));
  }

  async #sync(key: string, current: Stored<Sandbox> | undefined, previous: Stored<Sandbox> | undefined): Promise<void> {
    const sandbox = current ?? previous;
    if (!sandbox) return;
    if (!current || current.spec.operatingMode === "Suspended") await this.#stop(key, sandbox);
    else if (!this.#running.has(key)) await this.#start(key, current);
    if (current?.spec.operatingMode === "Suspended") await this.#say(current);
  }

  async #start(key: string, sandbox: Stored<Sandbox>): Promise<void> {
    const { name, namespace = "default", uid } = sandbox.metadata;
    const refusal = this.#refusals.get(name);
    if (refusal !== undefined) {
      if (!this.#refused.has(key)) await this.#sayReady(sandbox, refusal);
      this.#refused.set(key, sandbox);
      return;
    }
    this.#made.set(name, this.made(name) + 1);
    const podIP = nextLoopbackAddress();
    const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true };
    const metadata = { name, namespace, ownerReferences: [owner] };
    const type = { apiVersion: "v1", kind: "Pod" };
    await this.#client.create(podType, { ...type, metadata, spec: sandbox.spec.podTemplate.spec });
    const program = await this.#programs.get(name)?.(podIP);
    this.#running.set(key, program ?? { [Symbol.asyncDispose]: async () => {} });
    const status = this.#reports.get(name) ?? {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      podIP,
      podIPs: [{ ip: podIP }],
      startTime: systemClock.now().toISOString(),
    };
    const body = { status };
    await this.#client.patch(podType, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  }

  async #sayReady({ metadata }: Stored<Sandbox>, message: string): Promise<void> {
    const { namespace, name, generation: observedGeneration = 1 } = metadata;
    const lastTransitionTime = systemClock.now().toISOString();
    const ready = { type: "Ready", status: "False", reason: "ReconcilerError", message };
    const body = { status: { conditions: [{ ...ready, lastTransitionTime, observedGeneration }] } };
    await this.#client.patch(sandboxType, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  }

  async #stop(key: string, { metadata: { name, namespace } }: Stored<Sandbox>): Promise<void> {
    await this.#running.get(key)?.[Symbol.asyncDispose]();
    this.#running.delete(key);
    await this.#client.delete(podType, { namespace, name }, { gracePeriodSeconds: 0 }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  async #say({ metadata, status }: Stored<Sandbox>): Promise<void> {
    const { namespace, name, generation = 1 } = metadata;
    const said = status?.conditions?.some(
      (each) => each.type === "Suspended" && each.observedGeneration === generation,
    );
    if (said) return;
    const suspended = {
      type: "Suspended",
      status: "True",
      reason: "PodTerminated",
      message: "Pod has been terminated. Sandbox is suspended",
      observedGeneration: generation,
      lastTransitionTime: systemClock.now().toISOString(),
    };
    const body = { status: { conditions: [suspended] } };
    await this.#client.patch(sandboxType, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  }
}
