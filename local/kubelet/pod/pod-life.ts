import {
  type Container,
  type ContainerStatus,
  type Pod,
  type PodPhase,
  type PodStatus,
  podType,
} from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import { isOfAnotherObject } from "../../../kube/client/errors.ts";
import { runGuarded } from "../../../lib/guard/guard.ts";
import type { Backoff } from "../../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../../lib/queues/repeat-until-done.ts";
import { makeLaunch } from "../container/container-launch.ts";
import { ContainerLife } from "../container/container-life.ts";
import { secondsTime } from "../container/container-state.ts";
import { Deadline } from "../container/deadline.ts";
import { initRestartPolicy } from "../container/restart-policy.ts";
import type { NodeServices } from "../node/node-services.ts";
import { isFinished, isSidecar, makePodStatus, type PodView, phaseOf } from "./pod-phase.ts";
import { StatusWriter } from "./status-writer.ts";

/** The API's default, and the minimum that a kubelet gives to a force-deleted Pod. */
const defaultGraceMs = 30_000;
const leastGraceMs = 2_000;
const firstWriteMs = 5;
/** The end of a Pod waits so long for the write of its last status, and then goes on without it. */
const lastWriteLimitMs = 5_000;
const deleteBackoff: Backoff = { baseMs: 200, maxMs: 30_000, jitter: 0.2 };

/** One Pod on this node, from its start until everything of it is removed. */
export class PodLife {
  readonly podIp: string;
  readonly #services: NodeServices;
  readonly #inits: readonly ContainerLife[];
  readonly #mains: readonly ContainerLife[];
  readonly #writer: StatusWriter;
  readonly #startTime: Date;
  readonly #stopping = new AbortController();
  /** Aborted once the object is gone, or the runtime waits no longer for its deletion. */
  readonly #over = new AbortController();
  readonly #deadline: Deadline;
  readonly #wasFinished: boolean;
  #pod: Stored<Pod>;
  #lived: Promise<void> = Promise.resolve();
  #volumes: Promise<ReadonlyMap<string, string>> | undefined;
  #ending: Promise<void> | undefined;
  #suspended = false;
  #terminated = false;
  #failure: { readonly reason: string; readonly message: string } | undefined;

  constructor(services: NodeServices, pod: Stored<Pod>) {
    const { clock, addresses } = services;
    const { uid } = pod.metadata;
    this.#services = services;
    this.#pod = pod;
    const finished = isFinished(pod.status?.phase);
    this.#wasFinished = finished;
    this.podIp = finished ? (pod.status?.podIP ?? "") : addresses.take(uid, clock.ticksMs(), pod.status?.podIP);
    this.#startTime = readTime(pod.status?.startTime) ?? clock.now();
    this.#deadline = new Deadline(clock, Number.POSITIVE_INFINITY);
    const { restartPolicy, initContainers = [], containers = [] } = pod.spec ?? {};
    this.#inits = initContainers.map((container) =>
      this.#makeLife(container, container.restartPolicy === "Always" ? "Always" : initRestartPolicy(restartPolicy)),
    );
    this.#mains = containers.map((container) => this.#makeLife(container, restartPolicy));
    const { client, log, nodeName } = services;
    const { name, namespace } = pod.metadata;
    this.#writer = new StatusWriter({
      client,
      clock,
      log: log.child({ pod: `${namespace}/${name}` }),
      pod,
      nodeName,
      make: () => this.#status(),
      bound: () =>
        this.#recordEvent("Normal", "Scheduled", `Successfully assigned ${namespace}/${name} to ${nodeName}`),
    });
  }

  /** All containers of the Pod have ended for good. Only this program knows: any client can write another phase. */
  get isFinished(): boolean {
    return this.#wasFinished || isFinished(this.#phase());
  }

  /** Starts the volumes and containers of the Pod; returns at once. */
  begin(): void {
    if (this.#wasFinished) return;
    this.#lived = this.#live().catch((error: unknown) => this.#broken(error));
    // Clients wait for the process, not for the status, so the process starts first. Usually it runs by then, and the
    // first write reports it.
    this.#services.clock.after(firstWriteMs, () => this.#writer.changed());
  }

  /** Handles changes by other clients: a deletion, the condition of a readiness gate, or a status that is not ours. */
  update(pod: Stored<Pod>): void {
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp) this.#end((pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000);
    else if (!this.isFinished) {
      if (pod.spec?.readinessGates?.length) this.#writer.changed();
      this.#writer.seen(pod);
    }
  }

  /** The object is deleted. Resolves when everything of the Pod is removed. */
  async removed(): Promise<void> {
    this.#over.abort(new Error("the Pod's object is gone"));
    this.#end(0);
    await Promise.all([this.#writer.close(), this.#ending]);
  }

  /** Ends the processes because the runtime stops. The Pod's object stays, for the next start. */
  async suspend(limitMs: number): Promise<void> {
    this.#suspended = true;
    await this.#writer.close();
    this.#deadline.shorten(Math.min(limitMs, this.#graceMs()));
    await this.#stopContainers();
    using _ = this.#services.clock.after(lastWriteLimitMs, () => this.#over.abort(new Error("the runtime stops")));
    await this.#ending;
    this.#deadline[Symbol.dispose]();
  }

  statusOf(container: string): ContainerStatus | undefined {
    return [...this.#inits, ...this.#mains].find(({ status }) => status.name === container)?.status;
  }

  async #live(): Promise<void> {
    const { signal } = this.#stopping;
    using _ = this.#limitActivity();
    const sidecars: Promise<void>[] = [];
    for (const init of this.#inits) {
      if (signal.aborted) break;
      const lived = init.live();
      if (isSidecar(this.#pod, init.container.name)) {
        sidecars.push(lived);
        await Promise.race([init.started, lived]);
      } else {
        await lived;
        if (init.status.state?.terminated?.exitCode !== 0) break;
      }
    }
    const ready = this.#phase() !== "Failed" && !signal.aborted;
    if (ready) await Promise.all(this.#mains.map((main) => main.live()));
    if (sidecars.length > 0) {
      // The main containers have ended, so sidecars have no further use.
      this.#deadline.shorten(this.#graceMs());
      await this.#stopAll(this.#sidecars());
      await Promise.all(sidecars);
    }
    const { addresses, clock, volumes } = this.#services;
    const { uid } = this.#pod.metadata;
    if (signal.aborted) return;
    addresses.free(this.podIp, uid, clock.ticksMs());
    await volumes.leaveClaims(uid);
  }

  /** `activeDeadlineSeconds`: after this time the Pod has failed, in any state. */
  #limitActivity(): Disposable | undefined {
    const { clock } = this.#services;
    const seconds = this.#pod.spec?.activeDeadlineSeconds;
    if (seconds === undefined) return undefined;
    const leftMs = this.#startTime.getTime() + seconds * 1000 - clock.now().getTime();
    return clock.after(Math.max(leftMs, 0), () => {
      this.#failure = {
        reason: "DeadlineExceeded",
        message: "Pod was active on the node longer than the specified deadline",
      };
      this.#deadline.shorten(this.#graceMs());
      runGuarded("kubelet", () => this.#stopContainers().then(() => this.#writer.changed()));
    });
  }

  #end(graceMs: number): void {
    this.#deadline.shorten(Math.max(graceMs, leastGraceMs));
    this.#ending ??= this.#endOnce().catch((error: unknown) => this.#broken(error));
  }

  async #endOnce(): Promise<void> {
    const { addresses, clock, volumes, directories, removals } = this.#services;
    const { uid } = this.#pod.metadata;
    await this.#stopContainers();
    this.#deadline[Symbol.dispose]();
    this.#terminated = true;
    if (!isFinished(this.#writer.written?.phase)) this.#writer.changed();
    await this.#writer.finish(lastWriteLimitMs);
    addresses.free(this.podIp, uid, clock.ticksMs());
    // Before the deletion of the object, which a full disk can delay. Nothing waits for it: a program may have left very many files.
    runGuarded("kubelet", () => volumes.release(uid));
    await this.#deleteObject();
    void removals.remove(directories.podLogs(uid));
  }

  /** Main containers end first, sidecars last. */
  async #stopContainers(): Promise<void> {
    this.#stopping.abort(new Error("the Pod is being stopped"));
    const sidecars = this.#sidecars();
    await this.#stopAll([...this.#mains, ...this.#inits.filter((init) => !sidecars.includes(init))]);
    await this.#stopAll(sidecars);
    await this.#lived;
  }

  async #stopAll(lives: readonly ContainerLife[]): Promise<void> {
    await Promise.all(lives.map((life) => life.stop(this.#deadline)));
  }

  /** Deletes the object in the API server once nothing of the Pod runs; retried until it succeeds. */
  async #deleteObject(): Promise<void> {
    const { client, clock, log } = this.#services;
    const { namespace, name, uid } = this.#pod.metadata;
    const { signal } = this.#over;
    const options = { gracePeriodSeconds: 0, preconditions: { uid } } as const;
    const round = async () => {
      await client.delete(podType, { namespace, name }, options, signal).catch((error: unknown) => {
        // What remains at a stop is removed at the next start.
        if (!isOfAnotherObject(error) && !this.#suspended) throw error;
      });
      return undefined;
    };
    const onFailure = (err: unknown, failures: number) => {
      log.warn({ err, uid, failures }, "could not remove a finished Pod; retrying");
      return undefined;
    };
    await repeatUntilDone({ clock, signal, backoff: deleteBackoff, round, onFailure });
  }

  #makeLife(container: Container, restartPolicy: string | undefined): ContainerLife {
    const { podIp } = this;
    const { metadata, status } = this.#pod;
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    return new ContainerLife({
      services: this.#services,
      podUid: metadata.uid,
      podTitle: `${metadata.name}_${metadata.namespace}(${metadata.uid})`,
      podIp,
      container,
      restartPolicy,
      graceMs: this.#graceMs(),
      waitingReason: this.#pod.spec?.initContainers?.length ? "PodInitializing" : "ContainerCreating",
      previous: statuses.find(({ name }) => name === container.name),
      prepare: async (signal) => {
        const volumeDirectories = await this.#prepareVolumes();
        return makeLaunch(this.#services, { pod: this.#pod, container, podIp, volumeDirectories }, signal);
      },
      changed: () => this.#writer.changed(),
      recordEvent: (type, reason, note) => this.#recordEvent(type, reason, note),
    });
  }

  /** An unexpected error in one Pod must not affect the others. */
  #broken(error: unknown): void {
    this.#services.log.error({ err: error, uid: this.#pod.metadata.uid }, "unexpected error while a Pod ran or ended");
  }

  #recordEvent(type: "Normal" | "Warning", reason: string, note: string): void {
    this.#services.events.record({ regarding: this.#pod, type, reason, action: reason, note });
  }

  /** Once for all containers; repeated after a refusal. */
  #prepareVolumes(): Promise<ReadonlyMap<string, string>> {
    this.#volumes ??= this.#services.volumes.prepare(this.#pod, this.#stopping.signal).catch((error: unknown) => {
      this.#volumes = undefined;
      throw error;
    });
    return this.#volumes;
  }

  #graceMs(): number {
    const seconds = this.#pod.spec?.terminationGracePeriodSeconds;
    return seconds === undefined ? defaultGraceMs : seconds * 1000;
  }

  #sidecars(): readonly ContainerLife[] {
    return this.#inits.filter(({ container }) => isSidecar(this.#pod, container.name));
  }

  #view(): PodView {
    return {
      pod: this.#pod,
      podIp: this.podIp,
      hostIp: this.#services.hostIp,
      startTime: secondsTime(this.#startTime),
      initContainers: this.#inits.map(({ status }) => status),
      containers: this.#mains.map(({ status }) => status),
      failure: this.#failure,
      terminated: this.#terminated,
      previous: this.#writer.written,
      now: this.#services.clock.now(),
    };
  }

  #phase(): PodPhase {
    return phaseOf(this.#view());
  }

  #status(): PodStatus {
    return makePodStatus(this.#view());
  }
}
