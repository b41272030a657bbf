import { createServer } from "node:http";
import { type Pod, podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";

/** A node whose Pods start and end at once. All have the address of one server, which answers for them. */
export interface InstantNode extends AsyncDisposable {
  /** By name: when a watch reported the deletion of the last Pod, by the monotonic clock. */
  readonly goneMs: ReadonlyMap<string, number>;
}

const address = "127.89.1.1";
const port = 8_888;

export async function startInstantNode(client: KubeClient, namespace: string): Promise<InstantNode> {
  const goneMs = new Map<string, number>();
  const server = createServer((_request, response) => void response.end("ok"));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(port, address, 4_096, resolve));
  const informer = startInformer<Pod>({
    ...{ client, type: podType, namespace, indexes: {}, clock: systemClock, log: silentLogger },
  });
  informer.onChange(({ current, previous }) => {
    const name = (current ?? previous)?.metadata.name ?? "";
    if (!current) goneMs.set(name, systemClock.ticksMs());
    else if (!previous) void settle(start(client, current));
    else if (current.metadata.deletionTimestamp && !previous.metadata.deletionTimestamp)
      void settle(end(client, current));
  });
  return {
    goneMs,
    async [Symbol.asyncDispose]() {
      await informer[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function start(client: KubeClient, { metadata: { namespace, name, uid } }: Stored<Pod>): Promise<void> {
  const startTime = systemClock.now().toISOString();
  const conditions = [{ type: "Ready", status: "True" }];
  const status = { phase: "Running", podIP: address, podIPs: [{ ip: address }], startTime, conditions };
  const body = { metadata: { uid }, status };
  await client.patch(podType, { namespace, name }, { type: "merge", body }, { subresource: "status" });
}

async function end(client: KubeClient, { metadata: { namespace, name, uid } }: Stored<Pod>): Promise<void> {
  await client.delete(podType, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
}

/** Ignores that the Pod has been deleted meanwhile. */
const settle = (work: Promise<void>): Promise<void> =>
  work.catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
