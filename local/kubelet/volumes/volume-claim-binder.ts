import { type PersistentVolumeClaim, persistentVolumeClaimType } from "../../../api/kinds/core.ts";
import { parseKey } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isOfAnotherObject } from "../../../kube/client/errors.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import { runGuarded } from "../../../lib/guard/guard.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Running } from "../../../lib/process/lifecycle.ts";
import { KeyedQueue } from "../../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../../lib/queues/workers.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Volumes } from "./volumes.ts";

export interface ClaimBinderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Volumes;
}

/** Binds every claim to a directory of its own, and removes the directory with the claim. */
export function startClaimBinder({ client, clock, log, claims, volumes }: ClaimBinderOptions): Running {
  const queue = new KeyedQueue(clock);
  const changes = claims.onChange(({ key, previous, current }) => {
    if (current) queue.add(key);
    if (previous && previous.metadata.uid !== current?.metadata.uid) remove(previous.metadata.uid);
  });
  for (const claim of claims.store.list()) queue.add(`${claim.metadata.namespace}/${claim.metadata.name}`);

  const remove = (uid: string) => runGuarded("kubelet", () => volumes.removeClaim(uid));

  const workers = startWorkers({
    name: "the binder of volume claims",
    queue,
    workers: 2,
    async reconcile(key, signal) {
      const claim = claims.store.get(key);
      if (!claim || claim.status?.phase === "Bound") return {};
      const { uid } = claim.metadata;
      const where = parseKey(key);
      const volumeName = claim.spec?.volumeName ?? `pvc-${uid}`;
      try {
        const spec = { metadata: { uid }, spec: { volumeName } };
        await client.patch(persistentVolumeClaimType, where, { type: "merge", body: spec }, {}, signal);
        const status = { metadata: { uid }, status: boundStatus(claim) };
        const toStatus = { subresource: "status" } as const;
        await client.patch(persistentVolumeClaimType, where, { type: "merge", body: status }, toStatus, signal);
      } catch (error) {
        if (!isOfAnotherObject(error)) throw error;
      }
      return {};
    },
    onFailure: (key, error) => log.warn({ err: error, claim: key }, "could not bind a PersistentVolumeClaim; requeued"),
  });
  return {
    failed: workers.failed,
    async [Symbol.asyncDispose]() {
      changes[Symbol.dispose]();
      await workers[Symbol.asyncDispose]();
    },
  };
}

/** A directory has no size: the claim gets the requested one. */
function boundStatus({ spec }: PersistentVolumeClaim): object {
  const storage = spec?.resources?.requests?.["storage"];
  return { phase: "Bound", accessModes: spec?.accessModes ?? [], ...(storage && { capacity: { storage } }) };
}
