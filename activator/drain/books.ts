import type { Registry } from "prom-client";
import { effectiveAutoSuspension } from "../../api/defaults.ts";
import type { ListeningAnswer, ListeningRequest, SandboxIdentity } from "../../api/drain-protocol.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { startCertificateFiles } from "../../lib/certificate-files.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { Activity } from "../activity/activity.ts";
import { BondBook } from "../activity/bond-book.ts";
import { StayBook } from "../activity/staying-connections.ts";
import type { DrainConfig } from "../config.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { DrainDesk } from "./drain-desk.ts";
import { createDrainMetrics } from "./drain-metrics.ts";
import { type DrainServer, startDrainServer } from "./drain-server.ts";

type SeenCluster = Pick<Cluster, "sandbox" | "onSandboxChange" | "onPodGone">;

export interface BooksParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

/** What this replica knows of the use of sandboxes, and has promised. The controller may ask before the cluster is seen. */
export class Books {
  readonly activity: Activity;
  readonly openConnections = new StayBook();
  readonly bonds: BondBook;
  readonly #parts: BooksParts;
  readonly #metrics: ReturnType<typeof createDrainMetrics>;
  #cluster: SeenCluster | undefined;
  #listening: ((request: ListeningRequest) => Promise<ListeningAnswer>) | undefined;

  constructor(parts: BooksParts) {
    this.#parts = parts;
    this.activity = new Activity(parts.clock);
    this.#metrics = createDrainMetrics(parts.registry, { sandboxes: () => this.activity.size });
    this.bonds = new BondBook((sandboxUid, podUid) =>
      this.#metrics.forswore(this.openConnections.closeAll(sandboxUid, podUid)),
    );
  }

  /** @throws NoCertificateFiles where they are missing or do not fit each other, Error when the port cannot be had. */
  async listen({ tls, ...address }: DrainConfig): Promise<DrainServer & Partial<Running>> {
    const { clock, log } = this.#parts;
    const seenGeneration = (sandbox: SandboxIdentity) => this.#seenGeneration(sandbox);
    const listening = async (request: ListeningRequest) => this.#listening?.(request) ?? { ports: [] };
    const desk = new DrainDesk({ activity: this.activity, bonds: this.bonds, seenGeneration, listening });
    await using stack = new AsyncDisposableStack();
    const certificates = tls && stack.use(await startCertificateFiles(tls, { server: "the drain port", clock, log }));
    const { port } = stack.use(await startDrainServer({ address, certificates, desk, onCall: this.#metrics.called }));
    const started = stack.move();
    return {
      port,
      ...(certificates && { failed: certificates.failed }),
      [Symbol.asyncDispose]: () => started.disposeAsync(),
    };
  }

  /** From now on whatever comes into view is written down, before anybody acts on it. */
  keepFrom(cluster: SeenCluster): void {
    this.#cluster = cluster;
    cluster.onSandboxChange(({ previous, current }) => {
      if (current) return this.#saw(current);
      if (!previous) return;
      this.bonds.sandboxGone(previous.metadata.uid);
      this.activity.forget(previous.metadata.uid);
    });
    cluster.onPodGone((podUid, sandboxUid) => this.bonds.podGone(sandboxUid, podUid));
  }

  /** From now on this replica can say on which ports it stands for which sandbox. */
  confirmBy(listening: (request: ListeningRequest) => Promise<ListeningAnswer>): void {
    this.#listening = listening;
  }

  /** A sandbox runs because this replica asked for it, for a connection to that port; it is as the answer shows it. */
  woken(sandbox: Stored<Sandbox>, port: number): void {
    this.bonds.sandboxSeen(sandbox);
    this.activity.woke(sandbox, port);
  }

  #saw(sandbox: Stored<Sandbox>): void {
    this.bonds.sandboxSeen(sandbox);
    this.openConnections.mean(sandbox.metadata.uid, effectiveAutoSuspension(sandbox.spec).openConnections);
  }

  #seenGeneration({ namespace, name, uid }: SandboxIdentity): number {
    const seen = this.#cluster?.sandbox(namespace, name)?.metadata;
    return seen?.uid === uid ? (seen.generation ?? 0) : 0;
  }
}
