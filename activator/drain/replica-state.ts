import type { Registry } from "prom-client";
import type {
  BusyRequest,
  ListeningAnswer,
  ListeningRequest,
  SandboxIdentity,
} from "../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { effectiveAutoSuspension } from "../../api/rules/defaults.ts";
import { startCertificateFiles } from "../../lib/certificates/certificate-files.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { Activity } from "../activity/activity.ts";
import { KeptConnections } from "../activity/kept-connections.ts";
import { PodFences } from "../activity/pod-fences.ts";
import type { DrainConfig } from "../config/config.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import { BusyProber } from "./busy-prober.ts";
import { DrainHandlers } from "./drain-handlers.ts";
import { createDrainMetrics } from "./drain-metrics.ts";
import { type DrainServer, startDrainServer } from "./drain-server.ts";

type SeenCluster = Pick<
  Cluster,
  "sandbox" | "podOf" | "hasPod" | "listen" | "silentMs" | "onSandboxChange" | "onPodGone" | "onAddressLost"
>;

export interface ReplicaStateParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly allowLoopbackPodIp: boolean;
}

/** The activity of sandboxes on this replica, and its promises. The controller may ask before the cluster is synced. */
export class ReplicaState {
  readonly activity: Activity;
  readonly openConnections: KeptConnections;
  readonly fences: PodFences;
  readonly #parts: ReplicaStateParts;
  readonly #metrics: ReturnType<typeof createDrainMetrics>;
  readonly #workloads: BusyProber;
  #cluster: SeenCluster | undefined;
  #listening: ((request: ListeningRequest) => Promise<ListeningAnswer>) | undefined;

  constructor(parts: ReplicaStateParts) {
    this.#parts = parts;
    this.activity = new Activity(parts.clock);
    this.#metrics = createDrainMetrics(parts.registry, { sandboxes: () => this.activity.size });
    this.openConnections = new KeptConnections(() => this.#metrics.closedForSleep());
    this.fences = new PodFences({
      onFenced: (sandboxUid, podUid) => {
        this.#metrics.fenced();
        this.openConnections.closeAll(sandboxUid, podUid);
        this.#workloads.fenced(sandboxUid, podUid);
      },
      hasPod: (sandboxUid, podUid) => this.#cluster?.hasPod(sandboxUid, podUid) ?? false,
    });
    const { fences } = this;
    this.#workloads = new BusyProber({ ...parts, fences, cluster: () => this.#cluster });
  }

  /** @throws NoCertificateFiles if files are missing or do not match, Error if it cannot listen on the port. */
  async listen({ tls, ...address }: DrainConfig): Promise<DrainServer & Partial<Running>> {
    const { clock, log } = this.#parts;
    const seenGeneration = (sandbox: SandboxIdentity) => this.#seenGeneration(sandbox);
    const listening = async (request: ListeningRequest) => this.#listening?.(request) ?? { ports: [] };
    const { activity, fences, openConnections } = this;
    const closeOpen = (sandboxUid: string, podUid: string) => openConnections.closeAll(sandboxUid, podUid);
    const settle = (sandboxUid: string) => openConnections.settle(sandboxUid);
    const busy = (question: BusyRequest) => this.#workloads.ask(question);
    const handlers = new DrainHandlers({ activity, fences, closeOpen, settle, seenGeneration, listening, busy });
    await using stack = new AsyncDisposableStack();
    stack.use(this.#workloads);
    const certificates =
      tls && stack.use(await startCertificateFiles(tls, { server: "the drain listener", clock, log }));
    const { port } = stack.use(
      await startDrainServer({ address, certificates, handlers, onCall: this.#metrics.called }),
    );
    const started = stack.move();
    return {
      port,
      ...(certificates && { failed: certificates.failed }),
      [Symbol.asyncDispose]: () => started.disposeAsync(),
    };
  }

  /** From now on every object that comes into view is recorded before any request acts on it. */
  keepFrom(cluster: SeenCluster): void {
    this.#cluster = cluster;
    cluster.onSandboxChange(({ previous, current }) => {
      if (current) return this.#saw(current);
      if (!previous) return;
      this.fences.sandboxGone(previous.metadata.uid);
      this.activity.forget(previous.metadata.uid);
    });
    cluster.onAddressLost((address) => this.#workloads.addressLost(address));
    cluster.onPodGone((podUid, sandbox) => {
      if (sandbox) this.fences.podGone(sandbox.metadata.uid, podUid);
    });
  }

  /** From now on this replica can report which ports it opened for which sandbox. */
  confirmBy(listening: (request: ListeningRequest) => Promise<ListeningAnswer>): void {
    this.#listening = listening;
  }

  /** Records that this replica woke a sandbox for a connection to that port. `sandbox`: as the patch's answer shows it. */
  woken(sandbox: Stored<SlimSandbox>, port: number): void {
    const { namespace = "", name, uid } = sandbox.metadata;
    // It was in view at the wake. If it is not now, it is deleted, and no later event would drop its record.
    if (this.#cluster?.sandbox(namespace, name)?.metadata.uid !== uid) return;
    this.activity.saw(sandbox);
    this.fences.sandboxSeen(sandbox);
    this.activity.woke(sandbox, port);
  }

  #saw(sandbox: Stored<SlimSandbox>): void {
    this.activity.saw(sandbox); // before its seal is read: the promise closes what came after the suspension was observed
    this.fences.sandboxSeen(sandbox);
    this.openConnections.mean(sandbox.metadata.uid, effectiveAutoSuspension(sandbox.spec).openConnections);
  }

  #seenGeneration({ namespace, name, uid }: SandboxIdentity): number {
    const seen = this.#cluster?.sandbox(namespace, name)?.metadata;
    return seen?.uid === uid ? (seen.generation ?? 0) : 0;
  }
}
